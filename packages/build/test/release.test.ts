import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { describe, expect, test } from 'vitest'

import { findReleaseProblems } from '../src/checks/release.ts'
import { findPlatform, hostPlatform } from '../src/platform.ts'
import type { NativePackage, SharedTarget } from '../src/targets.ts'
import { type Fixture, makePackage, runBin } from './fixture.ts'

const sum: SharedTarget = { name: 'sum', kind: 'shared', sources: ['sum.c'], imports: ['*'] }
const source =
  '__attribute__((visibility("default"))) int sum(int a, int b);\nstatic __attribute__((noinline)) int add(int a, int b) { return a + b; }\nint sum(int a, int b) { return add(a, b); }\n'
const table: NativePackage = { targets: [sum, { ...sum, name: 'fixture', fixture: true }] }

function build(native: NativePackage, files: Record<string, string>): Fixture {
  const fixture = makePackage(native, files)
  expect(runBin('build', fixture)).toMatchObject({ code: 0, stderr: '' })
  return fixture
}

if (process.platform === 'linux')
  describe('a release', () => {
    test('is stripped, and its debug information is in a file with the same build ID', () => {
      const { directory } = build(table, { 'sum.c': source })
      const at = (file: string): string => join(directory, 'build/release', file)
      expect(readBinary(at('libsum.so')).stripped).toBe(true)
      expect(readBinary(at('libsum.so.debug'))).toMatchObject({ stripped: false, soname: 'libsum.so' })
      const idOf = (path: string): string =>
        /Build ID: ([0-9a-f]{40})/.exec(execFileSync('readelf', ['-n', path], { encoding: 'utf8' }))![1]!
      expect(idOf(at('libsum.so'))).toBe(idOf(at('libsum.so.debug')))
      expect(readBinary(at('libfixture.so')).stripped).toBe(false)
      expect(existsSync(at('libfixture.so.debug'))).toBe(false)
    })

    test('can be published only without what belongs to the machine that built it', () => {
      const { directory } = build(table, { 'sum.c': source })
      const check = (file: string, builtIn = directory): string[] =>
        findReleaseProblems(join(directory, 'build/release', file), { platform: hostPlatform, files: [], builtIn })
      expect(check('libsum.so')).toEqual([])
      expect(check('libfixture.so')).toEqual(['it must not contain symbols for debuggers: strip it'])
      expect(check('libsum.so', 'libsum')).toEqual(['it must not contain the path libsum of its build'])
    })

    test('can be published for its own platform only', () => {
      const { directory } = build(table, { 'sum.c': source })
      const path = join(directory, 'build/release/libsum.so')
      const other = findPlatform(process.arch === 'x64' ? 'linux-arm64-gnu' : 'linux-x64-gnu')
      expect(findReleaseProblems(path, { platform: other, files: [] })).toEqual([
        `its machine must be that of ${other.name}: elf for ${other.cpu}, got elf for ${process.arch}`,
      ])
    })

    test('must be a library or a program', () => {
      const { directory } = makePackage(table, { 'sum.c': source })
      expect(findReleaseProblems(join(directory, 'sum.c'), { platform: hostPlatform, files: [] })).toEqual([
        expect.stringContaining('the file is not a shared library'),
      ])
    })

    test('fills the package of a platform only if each file can be published, and empties it otherwise', () => {
      const { name } = hostPlatform
      const fixture = makePackage(
        { targets: [sum], platformPackages: 'npm' },
        { 'sum.c': source, [`npm/${name}/package.json`]: '{}' },
      )
      // The compiler of this machine in the place of zig, which is 355 MB.
      const zig = join(fixture.directory, 'zig')
      fixture.write('zig', '#!/bin/sh\n[ "$1" = version ] && exec echo 0.0.0\nshift 5\nexec cc "$@"\n')
      chmodSync(zig, 0o755)
      const fill = (): ReturnType<typeof runBin> =>
        runBin('build', fixture, ['--target', name, '--package'], { TENON_ZIG: zig })
      const library = join(fixture.directory, 'npm', name, 'lib/libsum.so')
      expect(fill()).toMatchObject({ code: 0, stderr: '' })
      expect(existsSync(library)).toBe(true)

      fixture.write(
        'sum.c',
        `#include <dlfcn.h>\n${source}void *find(void);\nvoid *find(void) { return dlsym(0, "x"); }\n`,
      )
      expect(fill()).toMatchObject({
        code: 1,
        stderr: `the package for ${name} was not filled:\n  libsum.so cannot be published: it must run with glibc 2.28, but needs GLIBC_2.34\n`,
      })
      expect(existsSync(library)).toBe(false)
      expect(existsSync(join(fixture.directory, 'npm', name, 'package.json'))).toBe(true)
    })

    test('must search for libraries beside itself, and may need only known ones', () => {
      const flags = ['-shared', '-fPIC', '-s', '-Wl,-rpath,/opt/lib', '-Wl,--no-as-needed']
      const fixture = makePackage(table, { 'sum.c': source })
      const cc = (...args: string[]): void => void execFileSync('cc', args, { cwd: fixture.directory })
      cc('-shared', '-fPIC', '-o', 'libother.so', 'sum.c')
      cc(...flags, '-o', 'libsum.so', 'sum.c', './libother.so')
      const path = join(fixture.directory, 'libsum.so')
      const rules = { platform: hostPlatform, files: ['libother.so'] }
      expect(findReleaseProblems(path, rules)).toEqual([
        'it must search for libraries only beside itself, got /opt/lib',
      ])
      expect(findReleaseProblems(path, { ...rules, files: [] })[0]).toBe(
        'it must not depend on libraries that may be absent, got ./libother.so',
      )
    })
  })
