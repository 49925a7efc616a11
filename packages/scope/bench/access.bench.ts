import type { Suite } from '@tenon/bench'
import { MemorySegment, NativeScope } from '@tenon/scope'

/** Elements that are visited in order, again and again. */
const COUNT = 1024
const SIZE = COUNT * 4

/** Offsets in no order. */
const scattered = Int32Array.from({ length: COUNT }, (_, i) => ((i * 769) % COUNT) * 4)

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'read int32, in order',
      unit: 'ns',
      target: { 'raw DataView': 6 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(SIZE)
        const view = new DataView(new ArrayBuffer(SIZE))
        const array = new Int32Array(COUNT)
        return {
          ours: (iterations) => {
            let sum = 0
            for (let left = iterations; left > 0; left -= COUNT) {
              for (let i = 0; i < COUNT; i++) sum = (sum + segment.getInt32(i * 4)) | 0
            }
            return sum
          },
          peers: {
            'raw DataView': (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum = (sum + view.getInt32(i * 4, true)) | 0
              }
              return sum
            },
            Int32Array: (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum = (sum + array[i]!) | 0
              }
              return sum
            },
          },
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'write int32, in order',
      unit: 'ns',
      target: { 'raw DataView': 9 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(SIZE)
        const view = new DataView(new ArrayBuffer(SIZE))
        return {
          ours: (iterations) => {
            for (let left = iterations; left > 0; left -= COUNT) {
              for (let i = 0; i < COUNT; i++) segment.setInt32(i * 4, left)
            }
          },
          peers: {
            'raw DataView': (iterations) => {
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) view.setInt32(i * 4, left, true)
              }
            },
          },
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'read float64, scattered',
      unit: 'ns',
      target: { 'raw DataView': 5 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(SIZE * 2)
        const view = new DataView(new ArrayBuffer(SIZE * 2))
        return {
          ours: (iterations) => {
            let sum = 0
            for (let left = iterations; left > 0; left -= COUNT) {
              for (let i = 0; i < COUNT; i++) sum += segment.getFloat64(scattered[i]! * 2)
            }
            return sum
          },
          peers: {
            'raw DataView': (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum += view.getFloat64(scattered[i]! * 2, true)
              }
              return sum
            },
          },
          teardown: () => scope.close(),
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
          ours: (iterations) => {
            let sum = 0
            for (let i = 0; i < iterations; i++) sum = (sum + segments[i & 255]!.getInt32(4)) | 0
            return sum
          },
          peers: {
            'a DataView each': (iterations) => {
              let sum = 0
              for (let i = 0; i < iterations; i++) sum = (sum + views[i & 255]!.getInt32(4, true)) | 0
              return sum
            },
          },
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
        const scope = NativeScope.ofConfined()
        const segments = [1, 2, 3, 4].map(() => scope.allocate(SIZE))
        // Several, so that the engine can't take the one it knows for granted.
        const views = [1, 2, 3, 4].map(() => new DataView(new ArrayBuffer(SIZE)))
        let turn = 0
        // Made once: a function made for each call would be compiled with less knowledge.
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
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'fill 4 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Buffer#fill': 0.8 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(SIZE)
        const buffer = Buffer.alloc(SIZE)
        return {
          ours: () => segment.fill(7),
          peers: { 'Buffer#fill': () => buffer.fill(7) },
          teardown: () => scope.close(),
        }
      },
    },
    {
      name: 'copy 4 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Buffer#copy': 0.6 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const [from, to] = [scope.allocate(SIZE), scope.allocate(SIZE)]
        const [source, target] = [Buffer.alloc(SIZE), Buffer.alloc(SIZE)]
        return {
          ours: () => to.copyFrom(from),
          peers: { 'Buffer#copy': () => source.copy(target) },
          teardown: () => scope.close(),
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
    {
      name: 'write and read a string of 32 characters',
      unit: 'ns',
      target: { 'Buffer#write and toString': 2 },
      setup: () => {
        const scope = NativeScope.ofConfined()
        const segment = scope.allocate(64)
        const buffer = Buffer.alloc(64)
        const text = 'the quick brown fox jumps over 1'
        return {
          ours: () => {
            segment.setString(0, text)
            return segment.getString(0)
          },
          peers: {
            'Buffer#write and toString': () => {
              buffer[buffer.write(text)] = 0
              return buffer.toString('utf8', 0, buffer.indexOf(0))
            },
          },
          teardown: () => scope.close(),
        }
      },
    },
  ],
} satisfies Suite
