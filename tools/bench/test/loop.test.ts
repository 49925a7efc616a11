import { expect, test } from 'vitest'

import { loopOver } from '../src/loop.ts'

test('loopOver() runs a body without parameters once, and then once for each iteration', async () => {
  let calls = 0
  const loop = await loopOver(() => ++calls)
  expect(calls).toBe(1)
  loop(10)
  expect(calls).toBe(11)
})

test('loopOver() returns a body that takes a count', async () => {
  const body = (iterations: number): number => iterations
  expect(await loopOver(body)).toBe(body)
})

test('bodies may return any value', async () => {
  for (const value of [1.5, 1n, 'text', {}, null, undefined, true]) {
    const loop = await loopOver(() => value)
    expect(() => loop(3)).not.toThrow()
  }
})

test('each loop has its own source', async () => {
  const [a, b] = [await loopOver(() => 1), await loopOver(() => 1)]
  expect(String(a)).not.toBe(String(b))
})

test('the loop waits for the promise of each iteration', async () => {
  let open = 0
  let most = 0
  const loop = await loopOver(async () => {
    most = Math.max(most, ++open)
    await Promise.resolve()
    open--
  })
  await loop(5)
  expect({ open, most }).toEqual({ open: 0, most: 1 })
})
