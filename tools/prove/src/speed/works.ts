import type { Work } from './rows.ts'

const MIB = 2 ** 20

/** @throws {Error} if a value is not the right one */
function expectEqual(value: unknown, right: unknown): void {
  if (JSON.stringify(value) !== JSON.stringify(right))
    throw new Error(`the result is ${JSON.stringify(value)} instead of ${JSON.stringify(right)}`)
}

/** The work that is measured, in the order of the page. */
export const works: readonly Work[] = [
  {
    name: 'calls/none',
    needs: ['nothing'],
    prepare: ({ nothing }) => ({ nothing }),
    body: '() => nothing()',
  },
  {
    name: 'calls/int32',
    needs: ['addOne'],
    prepare: ({ addOne }) => {
      expectEqual(addOne(41), 42)
      return { addOne }
    },
    body: '() => addOne(41)',
  },
  {
    name: 'calls/bytes',
    needs: ['sum'],
    prepare: ({ sum }) => {
      const bytes = Buffer.alloc(16, 2)
      expectEqual(sum(bytes, 16), 32)
      return { sum, bytes }
    },
    body: '() => sum(bytes, 16)',
  },
  {
    name: 'calls/own-memory',
    needs: ['allocate', 'sum'],
    prepare: ({ allocate, sum }) => {
      const memory = allocate(16)
      expectEqual(sum(memory.argument, 16), 0)
      return { sum, memory, argument: memory.argument }
    },
    body: '() => sum(argument, 16)',
  },
  {
    name: 'strings/argument',
    needs: ['length'],
    prepare: ({ length }) => {
      expectEqual(length('naïve ✓'), 10)
      return { length }
    },
    body: "() => length('naïve ✓')",
  },
  {
    name: 'strings/result',
    needs: ['text'],
    prepare: ({ text }) => {
      expectEqual(text(), 'naïve ✓')
      return { text }
    },
    body: '() => text()',
  },
  {
    name: 'structs/by-value',
    needs: ['scale'],
    prepare: ({ scale }) => {
      const point = { x: 1.5, y: -2 }
      expectEqual(scale(point, 2), { x: 3, y: -4 })
      return { scale, point }
    },
    body: '() => scale(point, 2)',
  },
  {
    name: 'callbacks/same-thread',
    needs: ['callback', 'repeat'],
    prepare: ({ callback, repeat }) => {
      const made = callback((value) => value + 2)
      expectEqual(repeat(made.argument, 5), 10)
      return { repeat, made, argument: made.argument }
    },
    // One native call makes all calls of a batch.
    body: '(iterations) => repeat(argument, iterations)',
  },
  {
    name: 'memory/allocate-and-free',
    needs: ['allocate'],
    prepare: ({ allocate }) => {
      const memory = allocate(64)
      expectEqual(memory.read(8), 0)
      memory.free()
      return { allocate }
    },
    body: '() => allocate(64).free()',
  },
  {
    name: 'async/one',
    needs: ['sumLater'],
    prepare: async ({ sumLater }) => {
      const bytes = new Uint8Array(64).fill(1)
      expectEqual(await sumLater(bytes, 64), 64)
      return { sumLater, bytes }
    },
    body: '() => sumLater(bytes, 64)',
  },
  {
    name: 'async/sixteen',
    needs: ['sumLater'],
    prepare: async ({ sumLater }) => {
      const parts = Array.from({ length: 16 }, () => new Uint8Array(64 * 1024).fill(1))
      const all = (): Promise<unknown[]> => Promise.all(parts.map((bytes) => sumLater(bytes, 64 * 1024)))
      expectEqual(await all(), new Array(16).fill(64 * 1024))
      return { parts, sumLater }
    },
    body: '() => Promise.all(parts.map((bytes) => sumLater(bytes, 65536)))',
  },
  {
    name: 'model/value',
    needs: ['double'],
    prepare: async ({ double }) => {
      const x = Float32Array.of(1, 2, 3, 4)
      expectEqual(Array.from((await double(x)) as number[]), [2, 4, 6, 8])
      return { double, x }
    },
    body: '() => double(x)',
  },
  {
    name: 'processes/round-trip',
    isRemote: true,
    needs: ['addOne'],
    prepare: async ({ addOne }) => {
      expectEqual(await addOne(41), 42)
      return { addOne }
    },
    body: 'async () => addOne(41)',
  },
  {
    name: 'processes/one-mib',
    isRemote: true,
    needs: ['sum'],
    prepare: async ({ sum }) => {
      const bytes = new Uint8Array(MIB).fill(1)
      expectEqual(await sum(bytes, MIB), MIB)
      return { sum, bytes }
    },
    body: 'async () => sum(bytes, 1048576)',
  },
]
