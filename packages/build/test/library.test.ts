import { type BinaryInfo, readBinary } from '@tenon/binary'
import { describe, expect, test } from 'vitest'

import { findOtherMachine, findViolations, librarySymbols, type LibrarySymbols } from '../src/checks/library.ts'
import { findPlatform, type PlatformName } from '../src/platform.ts'
import type { SharedTarget } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const target: SharedTarget = { name: 'x', kind: 'shared', sources: ['x.c'], imports: ['strlen', 'pthread_*'] }
const clean: LibrarySymbols = {
  imports: ['strlen', 'pthread_create', '__cxa_finalize'],
  exports: ['f'],
  needed: ['libc.so.6'],
}

function violations(
  symbols: LibrarySymbols,
  checked: SharedTarget,
  { hasCxx = false, name = 'linux-x64-gnu' }: { hasCxx?: boolean; name?: PlatformName } = {},
): string[] {
  return findViolations(symbols, checked, { platform: findPlatform(name), hasCxx })
}

describe('findViolations', () => {
  test('accepts symbols that are listed by name or by prefix', () => {
    expect(violations(clean, target, { hasCxx: false })).toEqual([])
  })

  test('names an import that is not listed', () => {
    const symbols = { ...clean, imports: ['strlen', 'system'] }
    expect(violations(symbols, target, { hasCxx: false })).toEqual([
      'its imports must be listed in "imports", got system',
    ])
    expect(violations(symbols, { ...target, unresolved: ['system'] }, { hasCxx: false })).toEqual([])
  })

  test('names an export that is not listed, and one that is missing', () => {
    expect(violations(clean, { ...target, exports: ['tn_*', 'XLA_FFI_GetApi'] }, { hasCxx: false })).toEqual([
      'its exports must be listed in "exports", got f',
      'it must export the symbols in "exports", but lacks XLA_FFI_GetApi',
    ])
  })

  test('allows the C++ runtime to C++ targets alone', () => {
    const symbols = { ...clean, needed: ['libc.so.6', 'libstdc++.so.6', 'libgcc_s.so.1'] }
    expect(violations(symbols, target, { hasCxx: true })).toEqual([])
    expect(violations(symbols, target, { hasCxx: false })).toEqual([
      'it must not depend on libraries that may be absent, got libstdc++.so.6, libgcc_s.so.1',
    ])
  })
})

test('accepts the C library of each platform, and what compilers add', () => {
  const needed: Record<PlatformName, string> = {
    'linux-x64-gnu': 'libc.so.6',
    'linux-arm64-gnu': 'ld-linux-aarch64.so.1',
    'linux-x64-musl': 'libc.so',
    'linux-arm64-musl': 'libc.musl-aarch64.so.1',
    'darwin-x64': '/usr/lib/libSystem.B.dylib',
    'darwin-arm64': '/usr/lib/libSystem.B.dylib',
    'win32-x64': 'KERNEL32.dll',
    'win32-arm64': 'api-ms-win-crt-heap-l1-1-0.dll',
  }
  for (const [name, library] of Object.entries(needed) as [PlatformName, string][]) {
    const symbols = { imports: ['memcpy', 'memset', '__stack_chk_fail'], exports: [], needed: [library] }
    expect(violations(symbols, { ...target, imports: [] }, { name }), name).toEqual([])
    const foreign = { ...symbols, needed: ['libwinpthread-1.dll', 'libgcc_s_seh-1.dll', 'libstdc++-6.dll'] }
    expect(violations(foreign, target, { name, hasCxx: true }), name).toEqual([
      'it must not depend on libraries that may be absent, got libwinpthread-1.dll, libgcc_s_seh-1.dll, libstdc++-6.dll',
    ])
  }
})

test('accepts libraries of the same package, and system libraries that the target lists', () => {
  const user: SharedTarget = { ...target, uses: ['sum'], libraries: ['blas', 'm'] }
  const symbols = (...needed: string[]): LibrarySymbols => ({ imports: [], exports: [], needed })
  expect(violations(symbols('libsum.so', 'libblas.so.3', 'libm.so.6'), user)).toEqual([])
  expect(violations(symbols('@rpath/libsum.dylib', '/opt/lib/libblas.3.dylib'), user, { name: 'darwin-x64' })).toEqual(
    [],
  )
  expect(violations(symbols('sum.dll', 'libblas-3.dll'), user, { name: 'win32-x64' })).toEqual([])
  expect(violations(symbols('libblasted.so'), user)).toEqual([
    'it must not depend on libraries that may be absent, got libblasted.so',
  ])
})

test('accepts the names of a system that the target lists for this system', () => {
  const listed: SharedTarget = { ...target, systemImports: { darwin: ['__error'], win32: ['CreateFileW'] } }
  const symbols = { imports: ['CreateFileW', '__error'], exports: [], needed: [] }
  expect(violations(symbols, listed, { name: 'darwin-x64' })).toEqual([
    'its imports must be listed in "imports", got CreateFileW',
  ])
  expect(violations(symbols, listed)[0]).toContain('got CreateFileW, __error')
})

test('findOtherMachine() names the platform and what the file is for', () => {
  const info = { format: 'elf', arch: 'x64', libc: 'glibc' } as BinaryInfo
  expect(findOtherMachine(info, findPlatform('linux-x64-gnu'))).toEqual([])
  expect(findOtherMachine(info, findPlatform('linux-x64-musl'))).toEqual([
    'its C library must be that of linux-x64-musl, got glibc',
  ])
  expect(findOtherMachine(info, findPlatform('linux-arm64-gnu'))).toEqual([
    'its machine must be that of linux-arm64-gnu: elf for arm64, got elf for x64',
  ])
  expect(findOtherMachine(info, findPlatform('darwin-x64'))[0]).toContain('mach-o for x64, got elf for x64')
})

// The rules of this system's C library are in the table.
if (process.platform === 'linux')
  describe('a built library', () => {
    const source =
      '#include <stdlib.h>\nint run(const char *c);\n__attribute__((visibility("default"))) int run(const char *c) { return system(c); }\n'

    test('is refused if it imports a symbol that its target does not list', () => {
      const fixture = makePackage({ targets: [target] }, { 'x.c': source })
      const { code, stderr } = runBin('build', fixture)
      expect(code).toBe(1)
      expect(stderr).toContain(
        'libx.so violates its entry in the table of targets:\n  its imports must be listed in "imports", got system\n',
      )
      expect(runBin('build', fixture).code).toBe(1)
    })

    test('is read with its imports, exports and needed libraries', () => {
      const fixture = makePackage(
        { targets: [{ ...target, imports: ['system'], libraries: ['m'] }] },
        { 'x.c': source },
      )
      expect(runBin('build', fixture)).toMatchObject({ code: 0 })
      const symbols = librarySymbols(readBinary(`${fixture.directory}/build/release/libx.so`))
      expect(symbols.imports).toContain('system')
      expect(symbols.exports).toEqual(['run'])
      expect(symbols.needed).toContain('libc.so.6')
    })

    test('may leave only declared symbols unresolved', () => {
      const call =
        'void host_a(void);\nvoid host_b(void);\n__attribute__((visibility("default"))) void run(void);\nvoid run(void) { host_a(); host_b(); }\n'
      const both: SharedTarget = { ...target, unresolved: ['host_a', 'host_b'] }
      expect(runBin('build', makePackage({ targets: [both] }, { 'x.c': call })).code).toBe(0)
      const one: SharedTarget = { ...target, unresolved: ['host_a'] }
      expect(runBin('build', makePackage({ targets: [one] }, { 'x.c': call })).stderr).toContain('got host_b\n')
      expect(runBin('build', makePackage({ targets: [target] }, { 'x.c': call })).stderr).toContain(
        'undefined reference',
      )
    })
  })
