import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheDirectory, ownCacheDirectory } from '../src/cli/cache-directory.ts'
import { writeNpy } from '@tenon/weights'
import { runTenon, type Finished } from './run-tenon.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-cache-'))
  writeNpy(join(directory, 'x.npy'), tensor('f32', [1, 2], [1, 1]))
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

if (process.platform === 'linux')
  test('ownCacheDirectory() is undefined in a home in which no directory can be made', () => {
    // The recursive mkdirSync() of Node.js 22 to 26 does not end there.
    expect(ownCacheDirectory({ HOME: '/proc' })).toBeUndefined()
  })

/** Runs the command with a cache directory of its own. */
function run(name: string, args: readonly string[]): Finished {
  return runTenon(args, { environment: { XDG_CACHE_HOME: join(directory, name), NODE_COMPILE_CACHE: undefined } })
}

/** Calls a kernel, and returns the files in the cache directory after it. */
function callKernel(name: string): string[] {
  const { code, stdout, stderr } = run(name, [
    'call',
    kernelLibrary('softmax'),
    'softmax',
    '--arg',
    join(directory, 'x.npy'),
  ])
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '[[0.5 0.5]]\n', stderr: '' })
  return filesOf(name)
}

const filesOf = (name: string): string[] => readdirSync(join(directory, name, 'tenon'), { recursive: true }).map(String)

const damages: Readonly<Record<string, (file: string) => void>> = {
  'a changed byte': (file) => {
    const bytes = readFileSync(file)
    bytes[bytes.length >> 1]! ^= 16
    writeFileSync(file, bytes)
  },
  'a cut-off end': (file) => truncateSync(file, 100_000),
  'no bytes': (file) => truncateSync(file, 0),
  'other bytes': (file) => writeFileSync(file, Buffer.alloc(800_000, 0xab)),
}

if (process.platform !== 'win32')
  describe('compiled code', () => {
    test('is kept after a call, in one file that only the user can read', () => {
      const files = callKernel('new')
      expect(files).toEqual([expect.stringMatching(/^call\.cjs-/)])
      expect(statSync(join(directory, 'new/tenon')).mode & 0o777).toBe(0o700)
      expect(statSync(join(directory, 'new/tenon', files[0]!)).mode & 0o777).toBe(0o600)
    })

    test('is used by the next call, which does not write it again', () => {
      const [file] = callKernel('used')
      const { ino } = statSync(join(directory, 'used/tenon', file!))
      expect(callKernel('used')).toEqual([file])
      expect(statSync(join(directory, 'used/tenon', file!)).ino).toBe(ino)
    })

    test('is not kept by the help of a call, which needs few functions', () => {
      expect(run('help', ['call', '--help']).code).toBe(0)
      expect(filesOf('help')).toEqual([])
    })

    test('is kept for the other commands by Node.js', () => {
      expect(run('inspect', ['inspect', kernelLibrary('softmax')]).code).toBe(0)
      expect(filesOf('inspect').length).toBeGreaterThan(1)
    })

    for (const [name, damage] of Object.entries(damages)) {
      test(`with ${name} is not used, and is made again`, () => {
        const [file] = callKernel(name)
        const path = join(directory, name, 'tenon', file!)
        const { size } = statSync(path)
        damage(path)
        expect(callKernel(name)).toEqual([file])
        expect(Math.abs(statSync(path).size - size)).toBeLessThan(size / 10)
      })
    }

    test('is not kept in a directory that others can write to', () => {
      mkdirSync(join(directory, 'open/tenon'), { recursive: true })
      chmodSync(join(directory, 'open/tenon'), 0o777)
      expect(callKernel('open')).toEqual([])
    })

    test('is not kept with NODE_DISABLE_COMPILE_CACHE=1', () => {
      const environment = { XDG_CACHE_HOME: join(directory, 'off'), NODE_DISABLE_COMPILE_CACHE: '1' }
      expect(runTenon(['call', '--help'], { environment }).code).toBe(0)
      expect(existsSync(join(directory, 'off'))).toBe(false)
    })

    test('is not needed: the command runs where the directory or the file cannot be made', () => {
      writeFileSync(join(directory, 'file'), '')
      expect(run('file', ['call', '--help']).code).toBe(0)
      const [file] = callKernel('folder')
      rmSync(join(directory, 'folder/tenon', file!))
      mkdirSync(join(directory, 'folder/tenon', file!, 'x'), { recursive: true })
      expect(callKernel('folder')).toEqual([file, join(file!, 'x')])
    })
  })

test('the program that is kept has only ASCII characters, so that its bytes are its characters', () => {
  const bytes = readFileSync(new URL('../dist/cli/call.cjs', import.meta.url))
  expect(bytes.every((byte) => byte < 0x80)).toBe(true)
})
