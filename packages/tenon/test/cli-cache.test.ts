import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compileSync } from '../src/entries/build.ts'
import { runTenon } from './run-tenon.ts'

function newCache(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-cache-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'cache')
}

test('tenon cache clear removes the compiled sources', { timeout: 60_000 }, () => {
  const cacheDirectory = newCache()
  const environment = { TENON_CACHE_DIR: cacheDirectory }
  expect(runTenon(['cache', 'clear'], { environment })).toEqual({
    code: 0,
    stdout: 'removed 0 libraries, 0.0 kB\n',
    stderr: '',
  })
  const { path } = compileSync('int f(void);\nint f(void) { return 1; }', { cacheDirectory })
  const { code, stdout } = runTenon(['cache', 'clear'], { environment })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^removed 1 library, \d+\.\d kB\n$/)
  expect(existsSync(path)).toBe(false)
  const { stdout: json } = runTenon(['cache', 'clear', '--json'], { environment })
  expect(JSON.parse(json)).toEqual({ libraries: 0, byteSize: 0 })
})

test('tenon cache refuses other words with exit code 2, and a relative TENON_CACHE_DIR with 1', () => {
  expect(runTenon(['cache'])).toMatchObject({ code: 2, stdout: '' })
  expect(runTenon(['cache', 'fill'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tenon cache can clear, got fill') as string,
  })
  expect(runTenon(['cache', 'clear'], { environment: { TENON_CACHE_DIR: 'x' } })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('TENON_CACHE_DIR must be an absolute path, got x') as string,
  })
})
