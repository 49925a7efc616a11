import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { LoadError } from '@tenon/core'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bundledPath, extractFiles, type BundledFiles } from '../src/native/bundled-files.ts'

let directory: string
beforeEach(() => {
  directory = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'tenon-bundled-')))
  vi.stubEnv('TENON_CACHE_DIR', join(directory, 'cache'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  fs.rmSync(directory, { recursive: true })
})

const isPosix = process.platform !== 'win32'
const root = (): string => join(directory, 'cache/files')
const sha256 = (contents: string | Buffer): string => createHash('sha256').update(contents).digest('hex')

const fileOf = (contents: string): BundledFiles['files'][string] => ({
  sha256: sha256(contents),
  size: Buffer.byteLength(contents),
  text: deflateRawSync(contents).toString('base64'),
})

const bundle = (texts: Readonly<Record<string, string>>): BundledFiles => ({
  platform: `${process.platform}-${process.arch}`,
  files: Object.fromEntries(Object.entries(texts).map(([name, contents]) => [name, fileOf(contents)])),
})

const sample = (): BundledFiles => bundle({ 'libk.so': 'code of k', 'libk.tenon.json': '{}', 'empty.so': '' })

/** The contents of the files of a directory. */
const contentsOf = (path: string): object =>
  Object.fromEntries(fs.readdirSync(path).map((name) => [name, fs.readFileSync(join(path, name), 'utf8')]))

const whole = { 'libk.so': 'code of k', 'libk.tenon.json': '{}', 'empty.so': '' }

test('the files are in one directory of the user alone, under their names', () => {
  const path = extractFiles(sample())
  expect(contentsOf(path)).toEqual(whole)
  expect(fs.readdirSync(root())).toHaveLength(1)
  if (!isPosix) return
  for (const each of [join(directory, 'cache'), root(), path, ...Object.keys(whole).map((name) => join(path, name))])
    expect(fs.statSync(each).mode & 0o7777).toBe(0o700)
})

test('the mask of the process does not matter', () => {
  const mask = process.umask(0o277)
  onTestFinished(() => void process.umask(mask))
  expect(contentsOf(extractFiles(sample()))).toEqual(whole)
})

test('the path is that of the first file, and other files have another directory', () => {
  const other = bundle({ 'libk.so': 'other code' })
  expect(fs.readFileSync(bundledPath(sample()), 'utf8')).toBe('code of k')
  expect(fs.readFileSync(bundledPath(other), 'utf8')).toBe('other code')
  expect(bundledPath(other)).toBe(bundledPath(other))
})

test('files that are there are used as they are', () => {
  const inode = (): number => fs.statSync(join(extractFiles(sample()), 'libk.so')).ino
  expect(inode()).toBe(inode())
})

describe('a directory in the cache is made anew', () => {
  const damages: [string, (path: string) => void][] = [
    ['has a file with another byte', (path) => fs.writeFileSync(join(path, 'libk.so'), 'code of x')],
    ['has a file that is cut off', (path) => fs.truncateSync(join(path, 'libk.so'), 4)],
    ['has a longer file', (path) => fs.appendFileSync(join(path, 'empty.so'), 'x')],
    ['lacks a file', (path) => fs.rmSync(join(path, 'libk.tenon.json'))],
    ['has another file', (path) => fs.writeFileSync(join(path, 'libother.so'), '')],
    ['is empty', (path) => [fs.rmSync(path, { recursive: true }), fs.mkdirSync(path, 0o700)]],
    ['is a file', (path) => [fs.rmSync(path, { recursive: true }), fs.writeFileSync(path, 'x')]],
    [
      'has a directory in place of a file',
      (path) => [fs.rmSync(join(path, 'libk.so')), fs.mkdirSync(join(path, 'libk.so'))],
    ],
  ]
  const posixDamages: [string, (path: string) => void][] = [
    ['is a link to the same files', (path) => [fs.renameSync(path, `${path}-x`), fs.symlinkSync(`${path}-x`, path)]],
    [
      'has a link to the same file',
      (path) => {
        fs.renameSync(join(path, 'libk.so'), join(directory, 'libk.so'))
        fs.symlinkSync(join(directory, 'libk.so'), join(path, 'libk.so'))
      },
    ],
    [
      'has a link to a device',
      (path) => [fs.rmSync(join(path, 'libk.so')), fs.symlinkSync('/dev/zero', join(path, 'libk.so'))],
    ],
    ['others can write to', (path) => fs.chmodSync(path, 0o777)],
    ['has a file that others can write to', (path) => fs.chmodSync(join(path, 'libk.so'), 0o722)],
    ['has a file that its owner cannot run', (path) => fs.chmodSync(join(path, 'libk.so'), 0o600)],
  ]
  test.for([...damages, ...(isPosix ? posixDamages : [])])('if it %s', ([, damage]) => {
    const path = extractFiles(sample())
    damage(path)
    expect(extractFiles(sample())).toBe(path)
    expect(fs.lstatSync(path).isDirectory()).toBe(true)
    expect(contentsOf(path)).toEqual(whole)
    expect(fs.lstatSync(join(path, 'libk.so')).isFile()).toBe(true)
    expect(fs.readdirSync(root()).filter((name) => name.startsWith('unfinished'))).toEqual([])
  })
})

test('a process that is killed while it writes leaves nothing that is used, and it is removed after an hour', () => {
  const unfinished = join(root(), 'unfinished-1-x')
  fs.mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  fs.writeFileSync(join(unfinished, 'libk.so'), 'code')
  expect(contentsOf(extractFiles(sample()))).toEqual(whole)
  expect(fs.existsSync(unfinished)).toBe(true)
  const past = Date.now() / 1000 - 3700
  fs.utimesSync(unfinished, past, past)
  extractFiles(bundle({ 'libnew.so': '' }))
  expect(fs.existsSync(unfinished)).toBe(false)
})

describe('a LoadError that names TENON_CACHE_DIR', () => {
  const expectRefusal = (message: string | RegExp): void => {
    expect(() => extractFiles(sample())).toThrow(LoadError)
    expect(() => extractFiles(sample())).toThrow(message)
    expect(() => extractFiles(sample())).toThrow('Set TENON_CACHE_DIR to a directory that only this user can write to')
  }

  test('refuses a relative path', () => {
    vi.stubEnv('TENON_CACHE_DIR', 'cache')
    expectRefusal('TENON_CACHE_DIR must be an absolute path, got cache')
  })

  test('refuses a place in which no directory can be made', () => {
    fs.writeFileSync(join(directory, 'text'), '')
    vi.stubEnv('TENON_CACHE_DIR', join(directory, 'text'))
    expectRefusal(/the cache of bundled libraries .*files cannot be made: ENOTDIR|EEXIST/)
  })

  if (!isPosix) return

  test('refuses a directory that others can write to', () => {
    extractFiles(sample())
    fs.chmodSync(root(), 0o777)
    expectRefusal('can be written to by other users (mode 777)')
  })

  test('refuses a directory in one where all users can rename directories', () => {
    extractFiles(sample())
    fs.chmodSync(join(directory, 'cache'), 0o777)
    expectRefusal(`is in ${join(directory, 'cache')}, where all users can rename directories (mode 777)`)
  })

  test('refuses a directory of another user', () => {
    extractFiles(sample())
    const { getuid } = process
    onTestFinished(() => {
      process.getuid = getuid!
    })
    process.getuid = () => 4711
    expectRefusal(`belongs to the user ${getuid!()}, and this process runs as 4711`)
  })

  test('refuses what cannot be written', () => {
    extractFiles(sample())
    const [key] = fs.readdirSync(root())
    fs.rmSync(join(root(), key!), { recursive: true })
    const damaged = { ...sample().files['libk.so']!, sha256: sha256('x') }
    expect(() => extractFiles({ ...sample(), files: { 'libk.so': damaged } })).toThrow(
      /cannot be written: the bundle is damaged, because libk\.so in it has another digest/,
    )
    const large = { ...fileOf('x'.repeat(1000)), size: 10 }
    expect(() => extractFiles({ ...sample(), files: { 'libk.so': large } })).toThrow(/cannot be written: /)
    expect(fs.readdirSync(root())).toEqual([])
  })
})

test('files for another platform are refused, before anything is written', () => {
  const other = { ...sample(), platform: 'win32-ppc' }
  expect(() => extractFiles(other)).toThrow(
    `the bundle contains libk.so for win32-ppc, this process runs on ${process.platform}-${process.arch}`,
  )
  expect(fs.existsSync(root())).toBe(false)
})
