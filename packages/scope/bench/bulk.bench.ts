import type { Suite } from '@tenon/bench'
import { memory, rawViews } from './support.ts'

const SIZE = 64 * 1024
const LARGE = 1024 * 1024

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'fill 64 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Uint8Array#fill': 0.9 },
      setup: () => {
        const { segments, teardown } = memory(SIZE)
        const [segment] = segments
        const array = new Uint8Array(SIZE)
        return {
          ours: () => segment.fill(7),
          peers: { 'Uint8Array#fill': () => array.fill(7) },
          teardown,
        }
      },
    },
    {
      name: 'fill 1 MiB',
      unit: 'GB/s',
      bytes: LARGE,
      target: { 'Uint8Array#fill': 0.9 },
      setup: () => {
        const { segments, teardown } = memory(LARGE)
        const [segment] = segments
        const array = new Uint8Array(LARGE)
        return {
          ours: () => segment.fill(9),
          peers: { 'Uint8Array#fill': () => array.fill(9) },
          teardown,
        }
      },
    },
    {
      name: 'copy 64 KiB',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Uint8Array#set': 0.9 },
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE)
        const [from, to] = segments
        const [source, target] = [new Uint8Array(SIZE), new Uint8Array(SIZE)]
        return {
          ours: () => to.copyFrom(from),
          peers: { 'Uint8Array#set': () => target.set(source) },
          teardown,
        }
      },
    },
    {
      name: 'copy 1 MiB',
      unit: 'GB/s',
      bytes: LARGE,
      target: { 'Uint8Array#set': 0.9 },
      setup: () => {
        const { segments, teardown } = memory(LARGE, LARGE)
        const [from, to] = segments
        const [source, target] = [new Uint8Array(LARGE), new Uint8Array(LARGE)]
        return {
          ours: () => to.copyFrom(from),
          peers: { 'Uint8Array#set': () => void target.set(source) },
          teardown,
        }
      },
    },
    {
      name: 'find that 64 KiB are equal',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'Buffer#equals': 0.8 },
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE)
        const [one, other] = segments
        const [a, b] = [Buffer.alloc(SIZE), Buffer.alloc(SIZE)]
        return {
          ours: () => one.mismatch(other),
          peers: { 'Buffer#equals': () => a.equals(b) },
          teardown,
        }
      },
    },
    {
      name: 'sum 64 KiB of int32 in withView',
      unit: 'GB/s',
      bytes: SIZE,
      target: { 'raw DataView': 0.8 },
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE, SIZE, SIZE)
        const views = rawViews(SIZE)
        let turn = 0
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
              let total = 0
              for (let at = 0; at < SIZE; at += 4) total = (total + view.getInt32(at, true)) | 0
              return total
            },
          },
          teardown,
        }
      },
    },
  ],
} satisfies Suite
