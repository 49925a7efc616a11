import { expect, test } from 'vitest'
import { type PoolReceiver, SentPools } from '../src/client/sent-pools.ts'
import { createPool } from '@tenon/pools'
import { operations } from '../src/wire/frame.ts'

test('requests that use one pool more than a driver takes, in turn, seldom send one again', () => {
  const counts = new Map<number, number>()
  const channel = {
    agreement: { pools: 64, poolBytes: Infinity, requests: 1 },
    notify: (operation: number) => void counts.set(operation, (counts.get(operation) ?? 0) + 1),
  } as PoolReceiver
  const sent = new SentPools(channel)
  const pools = Array.from({ length: 65 }, () => createPool(64))
  for (let round = 0; round < 50; round++)
    for (const pool of pools) {
      sent.use(pool)
      sent.unuse(pool)
    }
  // By least recent use, each of the 3250 uses would send a pool.
  expect(counts.get(operations.REGISTER_POOL)!).toBeLessThan(500)
  for (const pool of pools) pool.close()
  expect(counts.get(operations.RELEASE_POOL)).toBe(counts.get(operations.REGISTER_POOL))
})

test('a pool that is in use is not released', () => {
  const released: number[] = []
  const channel = {
    agreement: { pools: 3, poolBytes: Infinity, requests: 1 },
    notify: (operation: number, { id }: { id: number }) =>
      operation === operations.RELEASE_POOL ? released.push(id) : undefined,
  } as PoolReceiver
  const sent = new SentPools(channel)
  const pools = Array.from({ length: 5 }, () => createPool(64))
  const [held, second, third, fourth, fifth] = pools
  expect(sent.use(held!)).toBe(1)
  for (const pool of [second, third]) {
    sent.use(pool!)
    sent.unuse(pool!)
  }
  sent.use(fourth!)
  expect(released).toHaveLength(1)
  expect(released).not.toContain(1)
  const left = released[0] === 2 ? third! : second!
  sent.use(left)
  expect(() => sent.use(fifth!)).toThrow(/at most 3 pools/)
  for (const pool of pools) pool.close()
})
