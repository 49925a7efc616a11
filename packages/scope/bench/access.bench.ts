import type { Suite } from '@tenon/bench'
import { MemorySegment, NativeScope } from '@tenon/scope'
import { memory, overIndexes, rawViews } from './support.ts'

/** The number of elements that a row visits in order, repeatedly. */
const COUNT = 1024
const SIZE = COUNT * 4

/** Offsets in random order. */
const scattered = Int32Array.from({ length: COUNT }, (_, i) => ((i * 769) % COUNT) * 4)

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'read int32, in order',
      unit: 'ns',
      target: { 'raw DataView': 6 },
      setup: () => {
        const { segments, teardown } = memory(SIZE)
        const [segment] = segments
        const view = new DataView(new ArrayBuffer(SIZE))
        const array = new Int32Array(COUNT)
        return {
          ours: overIndexes(COUNT, (i) => segment.getInt32(i * 4)),
          peers: {
            'raw DataView': overIndexes(COUNT, (i) => view.getInt32(i * 4, true)),
            Int32Array: overIndexes(COUNT, (i) => array[i]!),
          },
          teardown,
        }
      },
    },
    {
      name: 'write int32, in order',
      unit: 'ns',
      target: { 'raw DataView': 9 },
      setup: () => {
        const { segments, teardown } = memory(SIZE)
        const [segment] = segments
        const view = new DataView(new ArrayBuffer(SIZE))
        return {
          ours: overIndexes(COUNT, (i) => {
            segment.setInt32(i * 4, i)
            return i
          }),
          peers: {
            'raw DataView': overIndexes(COUNT, (i) => {
              view.setInt32(i * 4, i, true)
              return i
            }),
          },
          teardown,
        }
      },
    },
    {
      name: 'read float64, scattered',
      unit: 'ns',
      target: { 'raw DataView': 5 },
      setup: () => {
        const { segments, teardown } = memory(SIZE * 2)
        const [segment] = segments
        const view = new DataView(new ArrayBuffer(SIZE * 2))
        return {
          ours: overIndexes(COUNT, (i) => segment.getFloat64(scattered[i]! * 2)),
          peers: { 'raw DataView': overIndexes(COUNT, (i) => view.getFloat64(scattered[i]! * 2, true)) },
          teardown,
        }
      },
    },
    {
      name: 'read int32 of many segments',
      unit: 'ns',
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segments = Array.from({ length: 256 }, () => scope.allocate(16))
        const views = Array.from({ length: 256 }, () => new DataView(new ArrayBuffer(16)))
        return {
          ours: overIndexes(256, (i) => segments[i]!.getInt32(4)),
          peers: { 'a DataView each': overIndexes(256, (i) => views[i]!.getInt32(4, true)) },
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'sum 4 KiB of int32 in withView',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'raw DataView': 0.7 },
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE, SIZE, SIZE)
        const views = rawViews(SIZE)
        let turn = 0
        // Created once, because the engine optimizes a function better than one created for each call.
        const sumOf = (view: DataView): number => {
          let sum = 0
          for (let at = 0; at < SIZE; at += 4) sum = (sum + view.getInt32(at, true)) | 0
          return sum
        }
        return {
          ours: () => segments[turn++ & 3]!.withView(sumOf),
          peers: {
            'raw DataView': () => {
              const view = views[turn++ & 3]!
              let sum = 0
              for (let at = 0; at < SIZE; at += 4) sum = (sum + view.getInt32(at, true)) | 0
              return sum
            },
          },
          teardown,
        }
      },
    },
    {
      name: 'fill 4 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Buffer#fill': 0.8 },
      setup: () => {
        const { segments, teardown } = memory(SIZE)
        const [segment] = segments
        const buffer = Buffer.alloc(SIZE)
        return {
          ours: () => segment.fill(7),
          peers: { 'Buffer#fill': () => buffer.fill(7) },
          teardown,
        }
      },
    },
    {
      name: 'copy 4 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Buffer#copy': 0.6 },
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE)
        const [from, to] = segments
        const [source, target] = [Buffer.alloc(SIZE), Buffer.alloc(SIZE)]
        return {
          ours: () => to.copyFrom(from),
          peers: { 'Buffer#copy': () => source.copy(target) },
          teardown,
        }
      },
    },
    {
      name: 'slice',
      unit: 'ns',
      target: { 'Buffer#subarray': 0.6 },
      setup: () => {
        const segment = MemorySegment.ofBuffer(new ArrayBuffer(SIZE))
        const buffer = Buffer.alloc(SIZE)
        return { ours: () => segment.asSlice(64, 128), peers: { 'Buffer#subarray': () => buffer.subarray(64, 192) } }
      },
    },
  ],
} satisfies Suite
