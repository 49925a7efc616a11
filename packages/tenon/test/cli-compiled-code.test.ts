import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheDirectory } from '../src/cli/compiled-code.ts'
import { runTenon } from './run-tenon.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-cache-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

if (process.platform === 'linux')
  test('cacheDirectory() is an absolute directory of the user', () => {
    expect(cacheDirectory({ XDG_CACHE_HOME: '/cache', HOME: '/home/u' })).toBe('/cache')
    expect(cacheDirectory({ XDG_CACHE_HOME: 'cache', HOME: '/home/u' })).toBe('/home/u/.cache')
    expect(cacheDirectory({ HOME: '/home/u' })).toBe('/home/u/.cache')
    expect(cacheDirectory({ HOME: 'u' })).toBeUndefined()
    expect(cacheDirectory({})).toBeUndefined()
  })

/** The files that a run of the command leaves in a cache directory. */
function filesAfterRun(name: string): string[] {
  const environment = { XDG_CACHE_HOME: join(directory, name), NODE_COMPILE_CACHE: undefined }
  expect(runTenon(['call', '--help'], { environment }).code).toBe(0)
  return readdirSync(join(directory, name, 'tenon'), { recursive: true }).map(String)
}

if (process.platform !== 'win32')
  describe('compiled code', () => {
    test('is kept in a directory that only the user can write to', () => {
      expect(filesAfterRun('new').length).toBeGreaterThan(1)
      expect(statSync(join(directory, 'new/tenon')).mode & 0o777).toBe(0o700)
    })

    test('is not kept in a directory that others can write to', () => {
      mkdirSync(join(directory, 'open/tenon'), { recursive: true })
      chmodSync(join(directory, 'open/tenon'), 0o777)
      expect(filesAfterRun('open')).toEqual([])
    })

    test('is not needed: the command runs where the directory cannot be made', () => {
      writeFileSync(join(directory, 'file'), '')
      const environment = { XDG_CACHE_HOME: join(directory, 'file') }
      expect(runTenon(['call', '--help'], { environment }).code).toBe(0)
    })
  })
