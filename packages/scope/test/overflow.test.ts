import { expect, test } from 'vitest'
import { MemoryLayout, type MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

const { int32, struct } = MemoryLayout
const sort = Linker.downcall(SymbolLookup.ofProcess().get('qsort'), {
  parameters: ['pointer', 'uint64', 'uint64', 'pointer'],
})

/** Calls a function that calls itself until the stack overflows, at many depths of the stack. */
function overflow(use: () => unknown): void {
  for (let i = 0; i < 30; i++) expect(use).toThrow(Error)
}

test('a stack that overflows in withView() leaves no hold', () => {
  const scope = NativeScope.ofConfined()
  const memory = scope.allocate(8)
  const plain = (): unknown => memory.withView(plain)
  const nested = (): number => memory.withView(() => nested() + 1)
  overflow(plain)
  overflow(nested)
  scope.close()
  expect(scope.isAlive).toBe(false)
})

test('a stack that overflows in callbacks leaves no call and no hold', () => {
  const [stubs, scope] = [ResourceScope.ofConfined(), NativeScope.ofConfined()]
  const array = scope.allocate(80, 8)
  const comparison = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
  const compare: MemorySegment = upcallStub(
    () => {
      sort(array, 2, 8, compare)
      return 0
    },
    comparison,
    stubs,
  )
  const value = { parameters: [struct({ a: int32 })] }
  const take = Linker.downcall(
    upcallStub((given: MemorySegment) => void take(given), value, stubs),
    value,
  ) as (given: MemorySegment) => void
  overflow(() => sort(array, 2, 8, compare))
  overflow(() => take(scope.allocate(4, 4)))
  stubs.close()
  scope.close()
  expect([stubs.isAlive, scope.isAlive]).toEqual([false, false])
})
