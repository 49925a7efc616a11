import { eventually } from '@tenon/config/eventually'
import { expect, test } from 'vitest'
import { tensor, type Tensor } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import { exportBatch, importBatch, importStream, type ArrowStream } from '@tenon/arrow'
import { counts, makeBatch, makeStream, peer } from './peer.ts'

const gc = (globalThis as { gc?: () => void }).gc!

/** Collects until a count is reached, and some times more, after which it must be the same. */
async function expectAfterCollection(count: () => number, expected: number): Promise<void> {
  await eventually(() => {
    gc()
    expect(count()).toBe(expected)
  })
  for (let i = 0; i < 5; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(count()).toBe(expected)
}

const arrays = (): number => counts().arrays

test('batches that nothing refers to are released once', async () => {
  using scope = NativeScope.ofConfined()
  const before = arrays()
  const drop = (): void => {
    for (let i = 0; i < 20; i++) {
      const { schema, array } = makeBatch(scope)
      importBatch(schema, array)
    }
  }
  drop()
  await expectAfterCollection(arrays, before + 20)
})

test('a batch that was closed is not released again', async () => {
  using scope = NativeScope.ofConfined()
  const before = arrays()
  const close = (): void => {
    const { schema, array } = makeBatch(scope)
    importBatch(schema, array).close()
  }
  close()
  await expectAfterCollection(arrays, before + 1)
})

test('a tensor, a view of it and a hold keep the batch, which is released after the last of them', async () => {
  using scope = NativeScope.ofConfined()
  const before = arrays()
  const kept: { x?: Tensor; part?: Tensor; pin?: { release(): void } } = {}
  const take = (): void => {
    const { schema, array } = makeBatch(scope, 5n)
    kept.x = importBatch(schema, array).column('x').tensor()
    kept.part = kept.x.slice([1, 3])
    kept.pin = kept.x.segment.pin()
  }
  take()
  await expectAfterCollection(arrays, before)
  delete kept.x
  await expectAfterCollection(arrays, before)
  expect(kept.part!.toArray()).toEqual([6n, 7n])
  delete kept.part
  await expectAfterCollection(arrays, before)
  kept.pin!.release()
  delete kept.pin
  await expectAfterCollection(arrays, before + 1)
})

test('a stream that is dropped in the middle is released once, and so are its batches', async () => {
  using scope = NativeScope.ofConfined()
  const before = counts()
  const drop = (): void => {
    const stream: ArrowStream = importStream(makeStream(scope, 5n))
    stream.read()
    stream.read()
  }
  drop()
  await expectAfterCollection(() => counts().streams, before.streams + 1)
  await expectAfterCollection(arrays, before.arrays + 2)
})

test('an export that no consumer takes is dropped once, and its scope can be closed', async () => {
  const scope = NativeScope.ofConfined()
  const drop = (): void => {
    exportBatch({ x: tensor('i64', [3], [1n, 2n, 3n], { allocator: scope }) })
  }
  for (let i = 0; i < 10; i++) drop()
  expect(scope['gate'].holds).toBe(10)
  await expectAfterCollection(() => scope['gate'].holds, 0)
  scope.close()
})

test('an export that its consumer has moved outlives its collected object, until the consumer releases it', async () => {
  const scope = NativeScope.ofConfined()
  const give = (): void => {
    peer.takeArray(exportBatch({ x: tensor('i64', [3], [1n, 2n, 3n], { allocator: scope }) }).array)
  }
  give()
  await expectAfterCollection(() => scope['gate'].holds, 1)
  expect(peer.sumTaken()).toBe(6n)
  peer.releaseTaken()
  await expectAfterCollection(() => scope['gate'].holds, 0)
  scope.close()
})
