import type { Suite } from '@tenon/bench'
import koffi from 'koffi'

import {
  CHUNK,
  Block,
  fail,
  FieldMemorySegment,
  fourSegments,
  Gate,
  MemorySegment,
  openBlock,
  OwnViewSegment,
  Segment,
  WideSegment,
} from './design.ts'

/** A bump allocator over one chunk, that begins again at its end: the fast path of an arena. */
class Arena {
  readonly block = openBlock()
  offset = 0
  limit = CHUNK

  allocate(byteSize: number, byteAlignment: number): Segment {
    const start = (this.offset + byteAlignment - 1) & -byteAlignment
    const end = start + byteSize
    if (!(byteSize >>> 0 === byteSize && end <= this.limit && (byteAlignment & (byteAlignment - 1)) === 0)) {
      this.offset = 0
      return this.allocate(byteSize, byteAlignment)
    }
    this.offset = end
    return new Segment(this.block, start, byteSize, 0)
  }
}

/** Elements that are read or written in order, again and again. */
const COUNT = 1024
const SIZE = COUNT * 4

export const suite = {
  package: '@tenon/bench',
  rows: [
    {
      name: 'allocate 16 B of a chunk',
      unit: 'ns',
      setup: () => {
        const arena = new Arena()
        return {
          ours: () => arena.allocate(16, 8),
          peers: {
            'Buffer.allocUnsafe': () => Buffer.allocUnsafe(16),
            'koffi.alloc + koffi.free': () => koffi.free(koffi.alloc('char', 16)),
          },
        }
      },
    },
    {
      name: 'new segment',
      unit: 'ns',
      setup: () => {
        const block = openBlock()
        return {
          ours: () => new MemorySegment(block, 64, 64, 0),
          peers: {
            'not extended': () => new Segment(block, 64, 64, 0),
            'extended, with class fields': () => new FieldMemorySegment(block, 64, 64, 0),
            'with gate and view': () => new WideSegment(block, 64, 64, 0),
            'with its own DataView': () => new OwnViewSegment(block, 64, 64),
          },
        }
      },
    },
    {
      name: 'open, allocate, close: a pooled chunk',
      unit: 'ns',
      setup: () => {
        const chunk = openBlock()
        const { view, bytes, address } = chunk
        return {
          ours: () => {
            const block = new Block(new Gate(), view, bytes, address)
            const segment = new Segment(block, 0, 16, 0)
            view.setFloat64(0, 0)
            view.setFloat64(8, 0)
            block.gate.alive = false
            return segment
          },
          peers: {
            'view and address made anew': () => {
              const { buffer } = view as DataView<ArrayBuffer>
              const block = new Block(
                new Gate(),
                new DataView(buffer),
                Buffer.from(buffer),
                Number(koffi.address(buffer)),
              )
              const segment = new Segment(block, 0, 16, 0)
              bytes.fill(0, 0, 16)
              block.gate.alive = false
              return segment
            },
            'koffi.alloc + koffi.free': () => koffi.free(koffi.alloc('char', 16)),
          },
        }
      },
    },
    {
      name: 'read int32, in order',
      unit: 'ns',
      setup: () => {
        const block = openBlock()
        const segment = new Segment(block, 64, SIZE, 0)
        const wide = new WideSegment(block, 64, SIZE, 0)
        const own = new OwnViewSegment(block, 64, SIZE)
        const view = new DataView(block.view.buffer, 64, SIZE)
        return {
          ours: (iterations) => {
            let sum = 0
            for (let left = iterations; left > 0; left -= COUNT) {
              for (let i = 0; i < COUNT; i++) sum = (sum + segment.getInt32(i * 4)) | 0
            }
            return sum
          },
          peers: {
            'with gate and view': (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum = (sum + wide.getInt32(i * 4)) | 0
              }
              return sum
            },
            'with its own DataView': (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum = (sum + own.getInt32(i * 4)) | 0
              }
              return sum
            },
            'raw DataView': (iterations) => {
              let sum = 0
              for (let left = iterations; left > 0; left -= COUNT) {
                for (let i = 0; i < COUNT; i++) sum = (sum + view.getInt32(i * 4, true)) | 0
              }
              return sum
            },
          },
        }
      },
    },
    {
      name: 'write int32, in order',
      unit: 'ns',
      setup: () => {
        const block = openBlock()
        const segment = new Segment(block, 64, SIZE, 0)
        const view = new DataView(block.view.buffer, 64, SIZE)
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
        }
      },
    },
    {
      name: 'address of one segment',
      unit: 'ns',
      setup: () => {
        const [segment] = fourSegments()
        const buffer = Buffer.alloc(64)
        return {
          ours: () => segment.block.address + segment.base,
          peers: {
            'bigint, sum of two': () => segment.address,
            'bigint of the sum': () => segment.addressOfSum,
            'koffi.address': () => koffi.address(buffer),
          },
        }
      },
    },
    {
      name: 'address of four segments',
      unit: 'ns',
      setup: () => {
        const [a, b, c, d] = fourSegments()
        const [p, q, r, s] = [Buffer.alloc(64), Buffer.alloc(64), Buffer.alloc(64), Buffer.alloc(64)]
        return {
          ours: () =>
            a.block.address +
            a.base +
            (b.block.address + b.base) +
            (c.block.address + c.base) +
            (d.block.address + d.base),
          peers: {
            'bigint, sum of two': () => a.address + b.address + c.address + d.address,
            'koffi.address': () => koffi.address(p) + koffi.address(q) + koffi.address(r) + koffi.address(s),
          },
        }
      },
    },
    {
      name: 'lock one segment',
      unit: 'ns',
      setup: () => {
        const [segment] = fourSegments()
        return {
          ours: (iterations) => {
            let sum = 0
            for (let i = 0; i < iterations; i++) {
              const { gate } = segment.block
              gate.enter()
              try {
                sum += segment.base
              } finally {
                gate.exit()
              }
            }
            return sum
          },
          peers: {
            'an object to release': () => new Hold(segment.block.gate).release(),
            'a closure': () => holding(segment.block.gate, () => segment.base),
          },
        }
      },
    },
  ],
} satisfies Suite

class Hold {
  #gate: Gate | null

  constructor(gate: Gate) {
    if (!gate.alive) fail()
    this.#gate = gate
    gate.holds++
  }

  release(): void {
    if (this.#gate !== null) this.#gate.holds--
    this.#gate = null
  }
}

function holding<Result>(gate: Gate, use: () => Result): Result {
  gate.enter()
  try {
    return use()
  } finally {
    gate.exit()
  }
}
