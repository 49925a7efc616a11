import { AllocationError, ArgumentError, ScopeClosedError } from '@tenon/core'
import { MemoryLayout, NativeAllocator, ResourceScope, toCString } from '@tenon/scope'
import { Linker, SymbolLookup, VaList } from '@tenon/scope/linker'
import { expect, test } from 'vitest'

const quotient = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })
const div = Linker.downcall(SymbolLookup.ofProcess().get('div'), { result: quotient, parameters: ['int32', 'int32'] })

test.each([
  ['confined', () => ResourceScope.ofConfined()],
  ['shared', () => ResourceScope.ofShared()],
])('a %s scope is an allocator for structs, texts and values', async (_, open) => {
  const scope = open()
  const result = div(scope, 17, 5)
  expect([result.getInt32(0), result.getInt32(4), result.scope]).toEqual([3, 2, scope])
  expect((await div.async(scope, 9, 4)).getInt32(4)).toBe(1)
  expect(toCString('größe', scope).getString(0)).toBe('größe')
  const values = NativeAllocator.allocateFrom(scope, MemoryLayout.int64, 1n, 2n)
  expect([values.getInt64(8), values.scope]).toEqual([2n, scope])
  expect(
    VaList.ofArguments(scope, (builder) => builder.int32(5))
      .arguments()
      .int32(),
  ).toBe(5)
  scope.close()
  expect(() => result.getInt32(0)).toThrow(ScopeClosedError)
  expect(() => div(scope, 1, 1)).toThrow(ScopeClosedError)
})

test('the scopes that the garbage collector ends are allocators, too', () => {
  expect(div(ResourceScope.ofImplicit(), 7, 2).getInt32(0)).toBe(3)
  expect(div(ResourceScope.global, 7, 2).getInt32(4)).toBe(1)
})

test('other objects are refused', () => {
  for (const value of [{}, null, 5, 'scope', { allocate: 1 }, [] as unknown])
    expect(() => div(value as never, 1, 1)).toThrow(ArgumentError)
  expect(() => div(() => undefined as never, 1, 1)).toThrow(AllocationError)
})
