import type { Suite } from '@tenon/bench'
import { gcAllocator, tensor } from '@tenon/core'
import koffi from 'koffi'

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: 'allocate 64 B for the collector to free',
      unit: 'ns',
      setup: () => ({
        ours: () => gcAllocator.allocate(64),
        peers: {
          'new ArrayBuffer': () => new ArrayBuffer(64),
          'new ArrayBuffer, Buffer, koffi.address': () => koffi.address(Buffer.from(new ArrayBuffer(64))),
        },
      }),
    },
    {
      name: 'slice a segment',
      unit: 'ns',
      target: { 'Buffer#subarray': 0.6 },
      setup: () => {
        const segment = gcAllocator.allocate(4096)
        const buffer = Buffer.alloc(4096)
        return {
          ours: () => segment.asSlice(64, 128),
          peers: {
            'Buffer#subarray': () => buffer.subarray(64, 192),
            'new DataView': () => new DataView(buffer.buffer, 64, 128),
          },
        }
      },
    },
    {
      name: 'address of a segment, as a bigint',
      unit: 'ns',
      target: { 'koffi.address': 0.8 },
      setup: () => {
        const segment = gcAllocator.allocate(2 ** 26)
        const buffer = Buffer.alloc(64)
        return { ours: () => segment.address, peers: { 'koffi.address': () => koffi.address(buffer) } }
      },
    },
    {
      name: 'addresses of four segments, as numbers',
      unit: 'ns',
      setup: () => {
        const [a, b, c, d] = [1, 2, 3, 4].map(() => gcAllocator.allocate(64)) as [Slice, Slice, Slice, Slice]
        const [p, q, r, s] = [Buffer.alloc(64), Buffer.alloc(64), Buffer.alloc(64), Buffer.alloc(64)]
        return {
          ours: () =>
            a.block.address +
            a.base +
            (b.block.address + b.base) +
            (c.block.address + c.base) +
            (d.block.address + d.base),
          peers: { 'koffi.address': () => koffi.address(p) + koffi.address(q) + koffi.address(r) + koffi.address(s) },
        }
      },
    },
    {
      name: 'tensor float32[2, 4] over a segment',
      unit: 'ns',
      setup: () => {
        const segment = gcAllocator.allocate(32)
        const buffer = new ArrayBuffer(32)
        const shape = [2, 4]
        return {
          ours: () => tensor('float32', shape, segment),
          peers: { 'new Float32Array': () => new Float32Array(buffer, 0, 8) },
        }
      },
    },
  ],
} satisfies Suite

type Slice = ReturnType<typeof gcAllocator.allocate>
