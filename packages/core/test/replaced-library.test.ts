import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { LoadError, NativeLibrary } from '@tenon/core'
import { checkFileIdentity, fileIdentity } from '@tenon/core/internal'
import { fixturePath } from './fixture.ts'

const root = mkdtempSync(join(tmpdir(), 'tenon-replaced-'))
afterAll(() => rmSync(root, { recursive: true }))

let folders = 0
function folder(): string {
  const path = join(root, String(folders++))
  mkdirSync(path)
  return path
}

/** Puts a fixture at a path, as linkers and package managers do. */
function put(name: string, path: string): void {
  copyFileSync(fixturePath(name), `${path}.new`)
  renameSync(`${path}.new`, path)
}

/** Which of the fixtures a library is. */
function nameOf(library: NativeLibrary): string {
  if (library.has('structs_packed')) return 'structs'
  return library.has('fixture_dependency') ? 'core_fixture_dependency' : 'core_fixture'
}

test.each([true, false])('a file that replaces another is loaded as itself (closed before: %s)', (closes) => {
  const path = join(folder(), 'lib.so')
  const opened: NativeLibrary[] = []
  for (const name of ['core_fixture', 'structs', 'core_fixture_dependency', 'core_fixture']) {
    put(name, path)
    const library = NativeLibrary.open(path)
    expect(nameOf(library)).toBe(name)
    opened.push(library)
    if (closes) library.close()
  }
  if (!closes)
    expect(opened.map(nameOf)).toEqual(['core_fixture', 'structs', 'core_fixture_dependency', 'core_fixture'])
})

test('a symbolic link is that of the file to which it points now', () => {
  const directory = folder()
  for (const name of ['core_fixture', 'structs']) {
    mkdirSync(join(directory, name))
    put(name, join(directory, name, 'lib.so'))
    symlinkSync(name, join(directory, 'next'))
    renameSync(join(directory, 'next'), join(directory, 'current'))
    expect(nameOf(NativeLibrary.open(join(directory, 'current/lib.so')))).toBe(name)
  }
  const byLink = NativeLibrary.open(join(directory, 'current/lib.so'))
  expect(byLink.symbol('structs_packed')).toBe(
    NativeLibrary.open(join(directory, 'structs/lib.so')).symbol('structs_packed'),
  )
})

test('a relative path is that of the working directory', () => {
  const here = process.cwd()
  try {
    for (const name of ['core_fixture', 'structs']) {
      const directory = folder()
      put(name, join(directory, 'lib.so'))
      process.chdir(directory)
      expect(nameOf(NativeLibrary.open('./lib.so'))).toBe(name)
    }
  } finally {
    process.chdir(here)
  }
})

test('a file that stays the same is loaded once, by all its paths', () => {
  const directory = folder()
  const path = join(directory, 'lib.so')
  put('core_fixture', path)
  symlinkSync('lib.so', join(directory, 'link.so'))
  linkSync(path, join(directory, 'hard.so'))
  const symbols = [path, path, `${directory}/./lib.so`, join(directory, 'link.so'), join(directory, 'hard.so')].map(
    (one) => NativeLibrary.open(one).symbol('fixture_sum'),
  )
  expect(new Set(symbols).size).toBe(1)
  renameSync(path, join(directory, 'moved.so'))
  expect(NativeLibrary.open(join(directory, 'moved.so')).symbol('fixture_sum')).toBe(symbols[0])
})

test('dependencies beside a file that was replaced are found', () => {
  const directory = folder()
  const path = join(directory, 'lib.so')
  put('core_fixture_dependency', join(directory, 'libcore_fixture_dependency.so'))
  put('core_fixture', path)
  NativeLibrary.open(path)
  put('core_fixture_dependent', path)
  expect(NativeLibrary.open(path).function('fixture_dependent', { result: 'int32' })()).toBe(8)
})

/** Writes a library whose function `outer` calls `inner` of another one in the folder `deep` beside it. */
function writeRelease(directory: string, value: number): void {
  mkdirSync(join(directory, 'deep'), { recursive: true })
  const compile = (name: string, source: string, flags: readonly string[]): void => {
    writeFileSync(join(root, 'source.c'), source)
    const file = join(directory, name)
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', `${file}.new`, join(root, 'source.c'), ...flags])
    renameSync(`${file}.new`, file)
  }
  compile('deep/libinner_of_release.so', `int inner(void) { return ${value}; }`, ['-Wl,-soname,libinner_of_release.so'])
  compile('outer.so', `int inner(void); int outer(void) { return ${10 * value} + inner(); }`, [
    `-L${join(directory, 'deep')}`,
    '-l:libinner_of_release.so',
    '-Wl,-rpath,$ORIGIN/deep',
  ])
}

test('a new file is refused if its dependency was replaced too, because the loader keeps the old one', () => {
  const directory = folder()
  const outer = (path: string): unknown => NativeLibrary.open(path).function('outer', { result: 'int32' })()
  writeRelease(join(directory, 'one'), 1)
  symlinkSync('one', join(directory, 'current'))
  const path = join(directory, 'current/outer.so')
  expect(outer(path)).toBe(11)
  // The same file of another name is not a new one.
  expect(outer(join(directory, 'one/outer.so'))).toBe(11)

  writeRelease(join(directory, 'two'), 2)
  symlinkSync('two', join(directory, 'next'))
  renameSync(join(directory, 'next'), join(directory, 'current'))
  for (let attempt = 0; attempt < 2; attempt++) {
    const refusal = (): unknown => outer(path)
    expect(refusal).toThrow(LoadError)
    expect(refusal).toThrow(/could not be loaded: .*deep\/libinner_of_release\.so, which it needs, was replaced after/)
    expect(refusal).toThrow(/Restart the process, or open it with Library\.isolate\(\)/)
  }

  symlinkSync('one', join(directory, 'next'))
  renameSync(join(directory, 'next'), join(directory, 'current'))
  expect(outer(path)).toBe(11)
})

test('a path whose file was removed is not opened, although the loader knows it', () => {
  const path = join(folder(), 'lib.so')
  put('core_fixture', path)
  NativeLibrary.open(path)
  rmSync(path)
  const refusal = (): unknown => NativeLibrary.open(path)
  expect(refusal).toThrow(LoadError)
  expect(refusal).toThrow(/lib\.so does not exist/)
  put('structs', path)
  expect(nameOf(NativeLibrary.open(path))).toBe('structs')
})

test('a file that was overwritten in place is refused', () => {
  const path = join(folder(), 'lib.so')
  copyFileSync(fixturePath('core_fixture'), path)
  NativeLibrary.open(path)
  utimesSync(path, 1, 1)
  const refusal = (): unknown => NativeLibrary.open(path)
  expect(refusal).toThrow(LoadError)
  expect(refusal).toThrow(
    /could not be loaded: the file .*lib\.so was overwritten after it was loaded[^]*Restart the process/,
  )
  put('structs', path)
  expect(nameOf(NativeLibrary.open(path))).toBe('structs')
})

test('the identity of a file changes with the file, and bare names have none', () => {
  const path = join(folder(), 'lib.so')
  put('core_fixture', path)
  const identity = fileIdentity(path)
  expect(identity).toMatch(/^\d+ \d+ \d+ \d+$/)
  checkFileIdentity(path, identity)
  checkFileIdentity(path, undefined)
  put('core_fixture', path)
  expect(fileIdentity(path)).not.toBe(identity)
  expect(() => checkFileIdentity(path, identity)).toThrow(/was replaced after the library was opened/)
  rmSync(path)
  expect([fileIdentity(path), fileIdentity('libm.so.6')]).toEqual([undefined, undefined])
  expect(() => checkFileIdentity(path, identity)).toThrow(LoadError)
})
