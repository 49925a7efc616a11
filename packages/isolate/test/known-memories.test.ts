import type { SharedChunk } from '@tenon/core/internal'
import { expect, test } from 'vitest'
import { KnownMemories } from '../src/host/known-objects.ts'

class Chunk implements SharedChunk {
  readonly descriptor = 3
  readonly byteSize = 4096
  readonly address = 4096
  readonly isWritable = true
  readonly isAlive = true
  readonly listeners = new Set<() => void>()
  onClose(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
}

const chunks = Array.from({ length: 10 }, () => new Chunk())
const none = (): void => expect.unreachable('nothing is released')

test('chunks that are used again and again are kept when others come and go', () => {
  const known = new KnownMemories(4)
  const released: number[] = []
  const [a, b, ...others] = chunks
  const ids = [a!, b!].map((chunk) => known.add(chunk, false, none).id)
  for (const other of others) {
    known.begin()
    known.add(other, false, (id) => released.push(id))
    known.find(a!, false)
    known.find(b!, false)
  }
  expect(known.size).toBe(4)
  expect(released).toHaveLength(others.length - 2)
  for (const id of ids) expect(released).not.toContain(id)
})

test('one chunk more than the limit does not make every use of all chunks miss', () => {
  const known = new KnownMemories(4)
  let misses = 0
  for (let round = 0; round < 100; round++) {
    // The first three are used twice as often.
    for (const chunk of [...chunks.slice(0, 3), chunks[3 + (round % 2)]!, ...chunks.slice(0, 3)]) {
      known.begin()
      if (known.find(chunk, false) !== undefined) continue
      misses++
      known.add(chunk, false, () => {})
    }
  }
  expect(misses).toBeLessThan(150)
})

test('the chunks of one call stay, also if there are more than the limit', () => {
  const known = new KnownMemories(4)
  known.begin()
  for (const chunk of chunks) known.add(chunk, false, none)
  for (const chunk of chunks) expect(known.find(chunk, false)).toBeDefined()
  known.begin()
  const released: number[] = []
  known.add(new Chunk(), false, (id) => released.push(id))
  expect(released).toHaveLength(1)
})

test('a chunk is released when it closes, and nothing listens to it after the worker has ended', () => {
  const known = new KnownMemories()
  const released: number[] = []
  const [first, second] = [new Chunk(), new Chunk()]
  const { id } = known.add(first, false, (each) => released.push(each))
  for (const listener of first.listeners) listener()
  expect(released).toEqual([id])
  expect(known.find(first, false)).toBeUndefined()
  known.add(second, false, none)
  known.clear()
  expect([first.listeners.size, second.listeners.size]).toEqual([0, 0])
})

test('a chunk that is written is announced again with this right', () => {
  const known = new KnownMemories()
  const chunk = new Chunk()
  const released: number[] = []
  const { id } = known.add(chunk, false, none)
  expect(known.find(chunk, true)).toBeUndefined()
  const again = known.add(chunk, true, (each) => released.push(each))
  expect(released).toEqual([id])
  expect(known.find(chunk, true)).toBe(again)
  expect(known.find(chunk, false)).toBe(again)
  known.forget(chunk, id)
  expect(known.size).toBe(1)
  known.forget(chunk, again.id)
  expect(known.size).toBe(0)
  expect(chunk.listeners.size).toBe(0)
})
