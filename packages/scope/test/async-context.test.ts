import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { gcAllocator } from '@tenon/core'
import { ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

const types = { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] } as const
const qsort = Linker.downcall(SymbolLookup.ofProcess().get('qsort'), types)

test('the callbacks of a call have the stores of its caller, also on another thread', async () => {
  const [store, other] = [new AsyncLocalStorage<number>(), new AsyncLocalStorage<string>()]
  const scope = ResourceScope.ofConfined()
  const memory = gcAllocator.allocate(64)
  const seen: [number | undefined, string | undefined][] = []
  const compare = upcallStub(
    () => {
      seen.push([store.getStore(), other.getStore()])
      return 0
    },
    { result: 'int32', parameters: ['pointer', 'pointer'] },
    scope,
  )
  const callers = [1, 2, 3, 4]
  await Promise.all(
    callers.map((i) => store.run(i, () => other.run('inner', () => qsort.async(memory, 2, 4, compare)))),
  )
  expect(seen.toSorted()).toEqual(callers.map((i) => [i, 'inner']))

  seen.length = 0
  await qsort.async(memory, 2, 4, compare)
  store.run(5, () => qsort(memory, 2, 4, compare))
  expect(seen).toEqual([
    [undefined, undefined],
    [5, undefined],
  ])
  scope.close()
})

test('a call in a callback has the stores that the callback sets', async () => {
  const store = new AsyncLocalStorage<string>()
  const scope = ResourceScope.ofConfined()
  const memory = gcAllocator.allocate(64)
  const seen: (string | undefined)[] = []
  const note = upcallStub(
    () => {
      seen.push(store.getStore())
      return 0
    },
    { result: 'int32', parameters: ['pointer', 'pointer'] },
    scope,
  )
  const compare = upcallStub(
    () => {
      seen.push(store.getStore())
      store.run('within', () => qsort(memory, 2, 4, note))
      qsort(memory, 2, 4, note)
      return 0
    },
    { result: 'int32', parameters: ['pointer', 'pointer'] },
    scope,
  )
  await store.run('caller', () => qsort.async(memory, 2, 4, compare))
  expect(seen).toEqual(['caller', 'within', 'caller'])
  scope.close()
})
