import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
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
