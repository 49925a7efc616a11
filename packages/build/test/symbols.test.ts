import { describe, expect, test } from 'vitest'

import { findViolations, type LibrarySymbols, readSymbols } from '../src/symbols.ts'
import type { SharedTarget } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const target: SharedTarget = { name: 'x', kind: 'shared', sources: ['x.c'], imports: ['strlen', 'pthread_*'] }
const clean: LibrarySymbols = {
  imports: ['strlen', 'pthread_create', '__cxa_finalize'],
  exports: ['f'],
  needed: ['libc.so.6'],
}

describe('findViolations', () => {
  test('accepts symbols that are listed by name or by prefix', () => {
    expect(findViolations(clean, target, false)).toEqual([])
  })

  test('names an import that is not listed', () => {
    const symbols = { ...clean, imports: ['strlen', 'system'] }
    expect(findViolations(symbols, target, false)).toEqual(['its imports must be listed in "imports", got system'])
    expect(findViolations(symbols, { ...target, unresolved: ['system'] }, false)).toEqual([])
  })

  test('names an export that is not listed, and one that is missing', () => {
    expect(findViolations(clean, { ...target, exports: ['tn_*', 'XLA_FFI_GetApi'] }, false)).toEqual([
      'its exports must be listed in "exports", got f',
      'it must export the symbols in "exports", but lacks XLA_FFI_GetApi',
    ])
  })

  test('allows the C++ runtime to C++ targets alone', () => {
    const symbols = { ...clean, needed: ['libc.so.6', 'libstdc++.so.6', 'libgcc_s.so.1'] }
    expect(findViolations(symbols, target, true)).toEqual([])
    expect(findViolations(symbols, target, false)).toEqual([
      'it must not depend on libraries that may be absent, got libstdc++.so.6, libgcc_s.so.1',
    ])
  })
})

// Only ELF libraries tell what they import.
if (process.platform === 'linux')
  describe('a built library', () => {
    const source =
      '#include <stdlib.h>\nint run(const char *c);\n__attribute__((visibility("default"))) int run(const char *c) { return system(c); }\n'

    test('is refused if it imports a symbol that its target does not list', () => {
      const fixture = makePackage({ targets: [target] }, { 'x.c': source })
      const { code, stderr } = runBin('build', fixture)
      expect(code).toBe(1)
      expect(stderr).toContain(
        'libx.so violates its entry in native.targets.ts:\n  its imports must be listed in "imports", got system\n',
      )
      expect(runBin('build', fixture).code).toBe(1)
    })

    test('is read with its imports, exports and needed libraries', async () => {
      const fixture = makePackage(
        { targets: [{ ...target, imports: ['system'], libraries: ['m'] }] },
        { 'x.c': source },
      )
      expect(runBin('build', fixture)).toMatchObject({ code: 0 })
      const symbols = await readSymbols(`${fixture.directory}/build/release/libx.so`)
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
