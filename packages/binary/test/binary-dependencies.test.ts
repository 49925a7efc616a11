import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { withFileSource } from '../src/byte-source.ts'
import { parseLdSoCache } from '../src/search/ld-so-cache.ts'
import { missingDependencies } from '../src/search/missing-dependencies.ts'
import { elfImage, machOImage, peImage } from './binary-images.ts'
import { memorySource } from './memory-source.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-missing-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Compiles `name` from nothing but the libraries it needs. */
function compile(name: string, ...flags: string[]): string {
  const path = join(directory, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(join(directory, 'x.c'), `int ${name.replaceAll(/\W/g, '_')}(void) { return 1; }`)
  const options = ['-shared', '-fPIC', '-Wl,--no-as-needed', '-o', path, join(directory, 'x.c'), ...flags]
  execFileSync(process.env['CC'] ?? 'cc', options)
  return path
}

const named = (path: string, environment: NodeJS.ProcessEnv = {}): string[] =>
  missingDependencies(path, { environment }).map(({ name, neededBy }) => `${name} < ${neededBy}`)

if (process.platform === 'linux')
  describe('on Linux', () => {
    test('libraries of the system are found', () => {
      expect(named(compile('libfine.so', '-lm', '-lstdc++'))).toEqual([])
    })

    test('a missing library is reported, and found through LD_LIBRARY_PATH', () => {
      const lower = compile('liblower.so')
      const upper = compile('libupper.so', lower, '-Wl,-soname,libupper.so')
      const plain = compile('libplain.so', `-L${directory}`, '-llower')
      // Given by its path and without a soname, it is needed by that path.
      expect(named(upper)).toEqual([])
      expect(named(plain)).toEqual([`liblower.so < ${plain}`])
      expect(named(plain, { LD_LIBRARY_PATH: `/nowhere:${directory}` })).toEqual([])
      rmSync(lower)
      expect(named(upper)).toEqual([`${lower} < ${upper}`])
    })

    test('a missing dependency of a dependency is reported with the file that needs it', () => {
      compile('liblower.so')
      const middle = compile('libmiddle.so', `-L${directory}`, '-llower')
      const upper = compile('libupper.so', `-L${directory}`, '-lmiddle', '-Wl,-rpath,$ORIGIN,--enable-new-dtags')
      // A RUNPATH counts for the direct dependencies only.
      expect(named(upper)).toEqual([`liblower.so < ${middle}`])
      const old = compile('libold.so', `-L${directory}`, '-lmiddle', '-Wl,-rpath,${ORIGIN},--disable-new-dtags')
      expect(named(old)).toEqual([])
    })

    test('a file for another processor is skipped', () => {
      const lower = compile('liblower.so')
      const upper = compile('libupper.so', `-L${directory}`, '-llower', '-Wl,-rpath,$ORIGIN/a:$ORIGIN/b')
      mkdirSync(join(directory, 'a'))
      mkdirSync(join(directory, 'b'))
      rmSync(lower)
      writeFileSync(join(directory, 'a', 'liblower.so'), elfImage({ bits: 64, littleEndian: false, machine: 22 }))
      expect(named(upper)).toEqual([`liblower.so < ${upper}`])
      renameSync(compile('liblower.so'), join(directory, 'b', 'liblower.so'))
      expect(named(upper)).toEqual([])
    })

    test('libraries that need each other are visited once', () => {
      compile('libone.so')
      const two = compile('libtwo.so', `-L${directory}`, '-lone', '-Wl,-rpath,$ORIGIN')
      compile('libone.so', `-L${directory}`, '-ltwo', '-Wl,-rpath,$ORIGIN')
      expect(named(two)).toEqual([])
    })

    test('the missing dependencies of a library for musl are reported', () => {
      const path = compile('libmusl.so', '-nostdlib', '-nodefaultlibs')
      const fake = compile('libc.musl-x86_64.so.1', '-nostdlib')
      const upper = compile('libupper.so', '-nostdlib', `-L${directory}`, '-l:libc.musl-x86_64.so.1')
      rmSync(fake)
      expect(named(path)).toEqual([])
      expect(named(upper)).toEqual([`libc.musl-x86_64.so.1 < ${upper}`])
    })

    if (existsSync('/sbin/ldconfig'))
      test('the cache of the system has the libraries that ldconfig prints', () => {
        const cachePath = '/etc/ld.so.cache'
        const printed = execFileSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' })
        const expected = Array.from(printed.matchAll(/^\t(\S+) \(.*=> (.*)$/gm), ([, name, path]) => `${name} ${path}`)
        const cache = withFileSource(cachePath, (source) => parseLdSoCache(source))
        const found = [...cache].flatMap(([name, paths]) => paths.map((path) => `${name} ${path}`))
        expect(found.length).toBeGreaterThan(10)
        expect(found.toSorted()).toEqual(expected.toSorted())
      })

    test('an old-format cache is read, and other bytes give an empty map', () => {
      const current = Buffer.alloc(48 + 24 + 40)
      current.write('glibc-ld.so.cache1.1')
      current.writeUInt32LE(1, 20)
      current.writeUInt32LE(72, 48 + 4)
      current.writeUInt32LE(80, 48 + 8)
      current.write('libx.so\0/x/libx.so\0', 72)
      const old = Buffer.alloc(32)
      old.write('ld.so-1.7.0\0')
      old.writeUInt32LE(1, 12)
      const expected = new Map([['libx.so', ['/x/libx.so']]])
      expect(parseLdSoCache(memorySource(current))).toEqual(expected)
      expect(parseLdSoCache(memorySource(Buffer.concat([old, current])))).toEqual(expected)
      expect(parseLdSoCache(memorySource(Buffer.from('something else entirely')))).toEqual(new Map())
    })
  })

describe('on macOS', () => {
  test('system libraries are provided, others are found through the run path', () => {
    const image = machOImage()
    const path = join(directory, 'libself.dylib')
    writeFileSync(path, image)
    const missing = (): string[] =>
      missingDependencies(path, { platform: 'darwin', environment: {} }).map(({ name }) => name)
    expect(missing()).toEqual([])
    image.write('@rpath/libother.dylib\0'.padEnd(27, '\0'), image.indexOf('/usr/lib/libSystem'))
    writeFileSync(path, image)
    expect(missing()).toEqual(['@rpath/libother.dylib'])
    mkdirSync(join(directory, 'lib'))
    symlinkSync(path, join(directory, 'lib', 'libother.dylib'))
    expect(missing()).toEqual([])
  })
})

describe('on Windows', () => {
  test('DLLs are found beside the DLL, in System32 and in PATH; API sets are provided', () => {
    const path = join(directory, 'self.dll')
    const image = peImage()
    writeFileSync(path, image)
    const missing = (environment: NodeJS.ProcessEnv): string[] =>
      missingDependencies(path, { platform: 'win32', environment }).map(({ name }) => name)
    expect(missing({})).toEqual(['ucrtbase.dll'])
    const bin = join(directory, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'ucrtbase.dll'), peImage())
    expect(missing({ PATH: bin })).toEqual([])
    image.write('api-ms-win-x\0', image.indexOf('ucrtbase'))
    writeFileSync(path, image)
    expect(missing({})).toEqual([])
  })
})
