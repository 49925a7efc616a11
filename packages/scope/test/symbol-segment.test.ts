import { ArgumentError } from '@tenon/core'
import { expect, test } from 'vitest'
import { ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

test('a downcall refuses a thread-local variable, whose address belongs to no library', () => {
  using scope = ResourceScope.ofConfined()
  for (const lookup of [SymbolLookup.ofProcess(), SymbolLookup.ofLibrary('libc.so.6', scope)]) {
    const call = (): unknown => Linker.downcall(lookup.get('errno'), { parameters: [] })
    expect(call).toThrow(ArgumentError)
    expect(call).toThrow('symbol must be a function, got the variable errno')
  }
})

test('a downcall accepts a callback, whose code belongs to no library', () => {
  using scope = ResourceScope.ofConfined()
  const types = { result: 'int32', parameters: [] } as const
  expect(
    Linker.downcall(
      upcallStub(() => 5, types, scope),
      types,
    )(),
  ).toBe(5)
})
