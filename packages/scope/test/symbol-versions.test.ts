import { ArgumentError, LoadError, ScopeClosedError } from '@tenon/core'
import { NativeScope, ResourceScope } from '@tenon/scope'
import { Linker, SymbolLookup } from '@tenon/scope/linker'
import { expect, test } from 'vitest'

// Only glibc has versions, and those of memcpy() are of x64.
if (
  process.platform === 'linux' &&
  process.arch === 'x64' &&
  'glibcVersionRuntime' in (process.report.getReport() as unknown as { header: object }).header
) {
  const libc = SymbolLookup.ofProcess()

  test('find() and get() look up a version of a symbol', () => {
    const [old, current] = [
      libc.get('memcpy', { version: 'GLIBC_2.2.5' }),
      libc.get('memcpy', { version: 'GLIBC_2.14' }),
    ]
    expect(old.address).not.toBe(current.address)
    expect(libc.get('memcpy').address).toBe(current.address)
    using scope = NativeScope.ofConfined()
    for (const symbol of [old, current]) {
      const memcpy = Linker.downcall(symbol, { parameters: ['pointer', 'pointer', 'uint64'] })
      const copy = scope.allocate(4)
      memcpy(copy, Uint8Array.of(1, 2, 3, 4), 4)
      expect(copy.getUint8(3)).toBe(4)
    }
  })

  test('a version that the library does not have is undefined, or a LoadError', () => {
    expect(libc.find('memcpy', { version: 'GLIBC_1.0' })).toBeUndefined()
    expect(libc.find('no_such_function', { version: 'GLIBC_2.14' })).toBeUndefined()
    expect(() => libc.get('memcpy', { version: 'GLIBC_1.0' })).toThrow(LoadError)
    for (const version of ['', 5, null, 'a\0b', {}])
      expect(() => libc.find('memcpy', { version: version as string }), String(version)).toThrow(ArgumentError)
    expect(() => libc.find('memcpy', { versions: 'x' } as never)).toThrow(ArgumentError)
  })

  test('a version is not looked up after the scope has closed', () => {
    const scope = ResourceScope.ofConfined()
    const lookup = SymbolLookup.ofLibrary('libm.so.6', scope)
    expect(lookup.find('exp', { version: 'GLIBC_2.29' })).toBeDefined()
    scope.close()
    expect(() => lookup.find('exp', { version: 'GLIBC_2.29' })).toThrow(ScopeClosedError)
  })
}
