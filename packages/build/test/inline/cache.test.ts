import * as fs from 'node:fs'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { cachePath } from '../../src/inline/cache-directory.ts'
import { Cache, clearCache } from '../../src/inline/cache.ts'
import { CompileError } from '../../src/inline/compile-error.ts'
import { temporary } from './inline.ts'

const key = '0123456789abcdef0123456789abcdef'
const file = 'libx.so'
const day = 86_400_000

function publish(cache: Cache, content: string, name = key): string {
  const directory = cache.makeDirectory()
  fs.writeFileSync(join(directory, file), content)
  return cache.publish(name, directory, file, []).path
}

function age(path: string, days: number): void {
  const time = (Date.now() - days * day) / 1000
  fs.utimesSync(path, time, time)
}

test('the directory is TENON_CACHE_DIR, or that of the system for the user', () => {
  expect(cachePath(undefined, { TENON_CACHE_DIR: '/a/b', HOME: '/home/me' })).toBe('/a/b')
  expect(cachePath('/option', { TENON_CACHE_DIR: '/a/b' })).toBe('/option')
  if (process.platform === 'linux') {
    expect(cachePath(undefined, { XDG_CACHE_HOME: '/xdg', HOME: '/home/me' })).toBe('/xdg/tenon')
    expect(cachePath(undefined, { XDG_CACHE_HOME: 'relative', HOME: '/home/me' })).toBe('/home/me/.cache/tenon')
  }
  expect(() => cachePath(undefined, { TENON_CACHE_DIR: 'a/b' })).toThrow('must be an absolute path, got a/b')
})

test('directories are made for this user alone', () => {
  const path = temporary('a', 'cache')
  const cache = new Cache(path)
  publish(cache, 'code')
  for (const directory of [path, join(path, key), join(path, 'unfinished')])
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
})

test('a directory that other users can write to is refused', () => {
  for (const mode of [0o720, 0o702, 0o777, 0o1777]) {
    const path = temporary('cache')
    fs.mkdirSync(path)
    fs.chmodSync(path, mode)
    expect(() => new Cache(path)).toThrow(CompileError)
    expect(() => new Cache(path)).toThrow(`can be written to by other users (mode ${mode.toString(8)})`)
  }
})

test('a directory in one where all users can rename directories is refused, unless it is like /tmp', () => {
  const path = temporary('open', 'cache')
  const open = join(path, '..')
  fs.mkdirSync(open)
  fs.chmodSync(open, 0o777)
  expect(() => new Cache(path)).toThrow(`is in ${open}, where all users can rename directories (mode 777)`)
  fs.chmodSync(open, 0o1777)
  expect(new Cache(path).directory).toBe(path)
})

test('a directory of another user is refused, also through a symbolic link', () => {
  const path = temporary('cache')
  fs.mkdirSync(path, { mode: 0o700 })
  const link = `${path}-link`
  fs.symlinkSync(path, link)
  const getuid = process.getuid!
  onTestFinished(() => {
    process.getuid = getuid
  })
  process.getuid = () => 4711
  for (const each of [path, link])
    expect(() => new Cache(each)).toThrow(`belongs to the user ${getuid()}, and this process runs as 4711`)
})

test('a directory that cannot be made is refused', () => {
  const text = temporary('text')
  fs.writeFileSync(text, '')
  expect(() => new Cache(join(text, 'a/cache'))).toThrow(/cannot be made: ENOTDIR/)
  // mkdirSync() of Node.js 22 to 26 does not end there.
  if (process.platform === 'linux') expect(() => new Cache('/proc/a/cache')).toThrow(/cannot be made: ENOENT/)
})

test('a file in place of the directory is refused', () => {
  const path = temporary('cache')
  fs.writeFileSync(path, '')
  expect(() => new Cache(path)).toThrow(/the cache of compiled sources .* is not a directory/)
})

test('an entry is found when it is complete', () => {
  const cache = new Cache(temporary('cache'))
  expect(cache.find(key, file)).toBeUndefined()
  const path = publish(cache, 'code')
  expect(cache.find(key, file)?.path).toBe(path)
  expect(fs.readdirSync(join(cache.directory, 'unfinished'))).toEqual([])
})

test.for<[string, (directory: string) => void]>([
  ['is cut off', (directory) => fs.truncateSync(join(directory, file), 2)],
  ['is empty', (directory) => fs.writeFileSync(join(directory, file), '')],
  ['has another byte', (directory) => fs.writeFileSync(join(directory, file), 'coda')],
  ['is missing', (directory) => fs.rmSync(join(directory, file))],
  ['is a directory', (directory) => [fs.rmSync(join(directory, file)), fs.mkdirSync(join(directory, file))]],
  ['is a link', (directory) => [fs.rmSync(join(directory, file)), fs.symlinkSync('/dev/zero', join(directory, file))]],
  ['has no record', (directory) => fs.rmSync(join(directory, 'entry.json'))],
  ['has a record that is cut off', (directory) => fs.truncateSync(join(directory, 'entry.json'), 20)],
  ['has an empty record', (directory) => fs.writeFileSync(join(directory, 'entry.json'), 'null')],
])('an entry whose library %s is replaced', ([, damage]) => {
  const path = temporary('cache')
  const cache = new Cache(path)
  publish(cache, 'code')
  damage(join(path, key))
  expect(cache.find(key, file)).toBeUndefined()
  publish(cache, 'code')
  expect(fs.readFileSync(cache.find(key, file)!.path, 'utf8')).toBe('code')
  expect(fs.readdirSync(join(path, 'unfinished'))).toEqual([])
})

test('the entry of the process that was first is used', () => {
  const cache = new Cache(temporary('cache'))
  const directory = cache.makeDirectory()
  fs.writeFileSync(join(directory, file), 'second')
  publish(cache, 'first')
  const { path } = cache.publish(key, directory, file, [])
  expect(fs.readFileSync(path, 'utf8')).toBe('first')
})

test('prune() removes entries that were not used for 30 days, and what processes have left', () => {
  const cache = new Cache(temporary('cache'))
  const [old, used, recent] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string]
  for (const name of [old, used, recent]) publish(cache, 'code', name)
  age(join(cache.directory, old), 31)
  age(join(cache.directory, used), 31)
  age(join(cache.directory, recent), 29)
  const [left, current] = [cache.makeDirectory(), cache.makeDirectory()]
  age(left, 1)
  // Whoever finds an entry uses it.
  cache.find(used, file)
  cache.prune()
  expect([old, used, recent].map((name) => fs.existsSync(join(cache.directory, name)))).toEqual([false, true, true])
  expect([left, current].map((name) => fs.existsSync(name))).toEqual([false, true])
})

test('clearCache() removes libraries, and nothing that is not of the cache', () => {
  const path = temporary('cache')
  expect(clearCache(path)).toEqual({ libraries: 0, byteSize: 0 })
  expect(fs.existsSync(path)).toBe(false)
  const cache = new Cache(path)
  publish(cache, 'code')
  cache.writeCompiler('gcc', 'gcc 12')
  fs.writeFileSync(join(path, 'mine'), '')
  const { libraries, byteSize } = clearCache(path)
  expect(libraries).toBe(1)
  expect(byteSize).toBeGreaterThan(4)
  expect(cache.find(key, file)).toBeUndefined()
  expect(cache.readCompiler('gcc')).toBeUndefined()
  expect(fs.existsSync(join(path, 'mine'))).toBe(true)
})
