import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AlignmentError,
  ArgumentError,
  BoundsError,
  cpu,
  dtypes,
  gcAllocator,
  ScopeClosedError,
  Segment,
  tensor,
  tensorType,
  type Element,
  type NativeAllocator,
  type Tensor,
  type TypedArray,
} from '@tenon/core'
import { Block, highWord, lowWord, TENSOR_ALIGNMENT, writeAddress } from '@tenon/core/internal'

describe('tensorType', () => {
  test('sizes and strides are read once: a hole is refused, and what changes later changes nothing', () => {
    expect(() => tensorType('f32', new Array<number>(2))).toThrow(ArgumentError)
    expect(() => tensorType('f32', [2, 3], { strides: new Array<number>(2) })).toThrow(ArgumentError)
    let reads = 0
    const changing = new Proxy([3], { get: (shape, key) => (key === '0' ? 3 + reads++ : Reflect.get(shape, key)) })
    expect(tensorType('u8', changing)).toBe(tensorType('u8', [3]))
    expect(tensorType('u8', [-0, 5]).shape).toEqual([0, 5])
  })

  test('equal types are one object', () => {
    expect(tensorType('f32', [2, 4])).toBe(tensorType('float32', [2, 4]))
    expect(tensorType('f32', [2, 4], { strides: [4, 1] })).toBe(tensorType('f32', [2, 4]))
    expect(tensorType('f32', [1, 4], { strides: [99, 1] })).toBe(tensorType('f32', [1, 4]))
    expect(tensorType('f32', [2, 4], { packing: 'packed' })).toBe(tensorType('f32', [2, 4]))
  })

  test('different types are different objects', () => {
    const types = [
      tensorType('f32', [2, 4]),
      tensorType('f32', [4, 2]),
      tensorType('f32', [24]),
      tensorType('f64', [2, 4]),
      tensorType('f32', [2, 4], { strides: [1, 2] }),
      tensorType('int4', [2, 4]),
      tensorType('int4', [2, 4], { packing: 'packed' }),
    ]
    expect(new Set(types).size).toBe(types.length)
  })

  test.each([
    ['f32', [], {}, 1, 4],
    ['f32', [2, 4], {}, 8, 32],
    ['f32', [0, 4], {}, 0, 0],
    ['c128', [3], {}, 3, 48],
    ['int4', [3], {}, 3, 3],
    ['int4', [3], { packing: 'packed' }, 3, 2],
    ['uint1', [9], { packing: 'packed' }, 9, 2],
    ['f32', [2, 3], { strides: [1, 2] }, 6, 24],
    ['f32', [2, 3], { strides: [10, 2] }, 6, 60],
    ['f32', [5], { strides: [0] }, 5, 4],
    ['f32', [0], { strides: [7] }, 0, 0],
  ] as const)('%s %j %j has %i elements in %i bytes', (dtype, shape, options, count, bytes) => {
    const type = tensorType(dtype, shape, options)
    expect([type.elementCount, type.byteSize]).toEqual([count, bytes])
  })

  test('does not keep types that nobody uses, except for the recent ones', async () => {
    const seen = new WeakRef(tensorType('f32', [12345, 678]))
    for (let size = 0; size < 20_000; size++) tensorType('f32', [size, 679])
    for (let i = 0; i < 20 && seen.deref() !== undefined; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      globalThis.gc?.()
    }
    expect(seen.deref()).toBeUndefined()
  })

  test.each([
    ['f32', [-1], {}],
    ['f32', [0.5], {}],
    ['f32', [NaN], {}],
    ['f32', [2 ** 53], {}],
    ['f32', [2 ** 40, 2 ** 40], {}],
    ['f64', [2 ** 52], {}],
    ['f32', [1n], {}],
    ['f32', '2', {}],
    ['f32', null, {}],
    ['f99', [1], {}],
    ['f32', [2], { strides: [] }],
    ['f32', [2], { strides: [-1] }],
    ['f32', [2], { strides: 1 }],
    ['int4', [2], { packing: 'tight' }],
    ['int4', [2, 2], { packing: 'packed', strides: [1, 2] }],
  ])('refuses %s %s %j', (dtype, shape, options) => {
    expect(() => tensorType(dtype, shape as never, options as never)).toThrow(ArgumentError)
  })
})

describe('tensor', () => {
  test('with memory of its own is zero, aligned and of its allocator', () => {
    const asked: [number, number | undefined][] = []
    const allocator: NativeAllocator = {
      allocate(byteSize, byteAlignment) {
        asked.push([byteSize, byteAlignment])
        return gcAllocator.allocate(byteSize, byteAlignment)
      },
    }
    const zeros = tensor('f32', [2, 3], undefined, { allocator })
    expect(asked).toEqual([[24, TENSOR_ALIGNMENT]])
    expect(zeros.toArray()).toEqual([0, 0, 0, 0, 0, 0])
    expect(zeros.address % TENSOR_ALIGNMENT).toBe(0)
    expect(zeros).toMatchObject({
      dtype: 'float32',
      shape: [2, 3],
      strides: undefined,
      packing: 'element',
      device: cpu,
    })
  })

  test('over a segment copies nothing', () => {
    const segment = gcAllocator.allocate(64, 64)
    const x = tensor('int32', [4], segment.asSlice(16))
    segment.view().setInt32(20, 7, true)
    expect(x.toArray()).toEqual([0, 7, 0, 0])
    expect(x.segment.lifetime).toBe(segment.lifetime)
    ;(x.view() as Int32Array)[3] = 9
    expect(segment.view().getInt32(28, true)).toBe(9)
  })

  test.each(dtypes.map((row) => row.name))('%s: values come back, from an array and from a view', (dtype) => {
    const one: Element =
      dtype === 'bool'
        ? true
        : dtype.startsWith('complex')
          ? [1, 1]
          : /^u?int64$/.test(dtype)
            ? 1n
            : dtype === 'int1'
              ? -1
              : 1
    const zero: Element =
      dtype === 'bool'
        ? false
        : dtype.startsWith('complex')
          ? [0, 0]
          : /^u?int64$/.test(dtype)
            ? 0n
            : dtype === 'float8_e8m0fnu'
              ? 2
              : 0
    const values = [one, zero, one, one, zero]
    const x = tensor(dtype, [5], values)
    expect(x.toArray()).toEqual(values)
    expect(tensor(dtype, [5], x.view()).toArray()).toEqual(values)
    const packed = tensor(dtype, [5], values, { packing: 'packed' })
    expect(packed.toArray()).toEqual(values)
    const bytes = new Uint8Array(packed.type.byteSize)
    bytes.set(new Uint8Array(packed.segment.view().buffer, packed.segment.view().byteOffset, bytes.length))
    const array = x.view().constructor as new (buffer: ArrayBuffer) => TypedArray
    expect(tensor(dtype, [5], new array(bytes.buffer), { packing: 'packed' }).toArray()).toEqual(values)
  })

  test('packed elements fill each byte from its low bits', () => {
    const bytes = (x: Tensor): number[] =>
      Array.from({ length: x.type.byteSize }, (_, i) => x.segment.view().getUint8(i))
    expect(bytes(tensor('uint4', [3], [1, 2, 3], { packing: 'packed' }))).toEqual([0x21, 0x03])
    expect(bytes(tensor('int2', [4], [1, -1, 0, -2], { packing: 'packed' }))).toEqual([0b10001101])
  })

  test('packed elements replace what an allocator left in its memory', () => {
    const used = gcAllocator.allocate(64)
    used.view().setUint16(0, 0xffff)
    const x = tensor('uint4', [3], [1, 2, 3], { packing: 'packed', allocator: { allocate: () => used } })
    expect(x.toArray()).toEqual([1, 2, 3])
  })

  test("an allocator's segment is checked: kernels would write beyond it", () => {
    const values = [1, 2, 3, 4]
    expect(() => tensor('f32', [4], values, { allocator: { allocate: () => gcAllocator.allocate(8) } })).toThrow(
      BoundsError,
    )
    const odd: NativeAllocator = { allocate: (size) => gcAllocator.allocate(size + 1).asSlice(1) }
    expect(() => tensor('f32', [4], values, { allocator: odd })).toThrow(AlignmentError)
    expect(() => tensor('f32', [4], values, { allocator: { allocate: () => ({}) as never } })).toThrow(
      /must allocate a segment, got an object/,
    )
  })

  test('strides are followed when it is read', () => {
    const memory = tensor('int32', [6], [0, 1, 2, 3, 4, 5])
    expect(tensor('int32', [3, 2], memory.segment, { strides: [1, 3] }).toArray()).toEqual([0, 3, 1, 4, 2, 5])
    expect(tensor('int32', [2, 2], memory.segment, { strides: [0, 2] }).toArray()).toEqual([0, 2, 0, 2])
  })

  test('an independent walk over random strides agrees', () => {
    const memory = tensor(
      'int32',
      [4096],
      Int32Array.from({ length: 4096 }, (_, i) => i),
    )
    const axis = fc.record({ size: fc.integer({ min: 0, max: 4 }), stride: fc.integer({ min: 0, max: 200 }) })
    fc.assert(
      fc.property(fc.array(axis, { maxLength: 4 }), (axes) => {
        const walk = (depth: number, at: number): number[] =>
          depth === axes.length
            ? [at]
            : Array.from({ length: axes[depth]!.size }, (_, i) => walk(depth + 1, at + i * axes[depth]!.stride)).flat()
        const x = tensor(
          'int32',
          axes.map((a) => a.size),
          memory.segment,
          { strides: axes.map((a) => a.stride) },
        )
        expect(x.toArray()).toEqual(walk(0, 0))
      }),
    )
  })

  test('a scalar and an empty one', () => {
    expect(tensor('f64', [], [3]).toArray()).toEqual([3])
    expect(tensor('f64', [0, 3], []).toArray()).toEqual([])
    expect(tensor('f64', [0]).address).toBeGreaterThan(0)
  })

  test.each([
    ['f32', [2], [1], /an array of length 2, got an array of length 1/],
    ['f32', [2], [1, 'x'], /must be a number/],
    ['f32', [2], new Array(2), /must be a number, got undefined/],
    ['f32', [2], new Float64Array(2), /must be a Float32Array\(2\), got Float64Array\(2\)/],
    ['f32', [2], new Float32Array(3), /got Float32Array\(3\)/],
    ['f32', [2], 5, /got 5/],
    ['f32', [2], null, /got null/],
    ['f16', [2], new Float32Array(3), /Uint16Array\(2\)/],
  ])('%s %j refuses the values %o', (dtype, shape, source, message) => {
    expect(() => tensor(dtype, shape, source as never)).toThrow(ArgumentError)
    expect(() => tensor(dtype, shape, source as never)).toThrow(message)
  })

  test('refuses a segment that is too small, or starts between elements', () => {
    const segment = gcAllocator.allocate(16, 16)
    expect(() => tensor('f32', [5], segment)).toThrow(BoundsError)
    expect(() => tensor('f32', [2], segment.asSlice(2))).toThrow(AlignmentError)
    expect(() => tensor('f32', [2], [1, 2], { strides: [2] })).toThrow(ArgumentError)
    expect(() => tensor('f32', [2], [1, 2], { device: cpu })).toThrow(ArgumentError)
  })

  test.each(dtypes.map(({ name }) => [name, tensor(name, [1]).view().BYTES_PER_ELEMENT] as const))(
    'elements of %s start at a multiple of %d bytes of the address, wherever their block starts',
    (dtype, alignment) => {
      const { block: whole } = gcAllocator.allocate(64, 16)
      for (let shift = 0; shift < 16; shift++) {
        const bytes = whole.bytes.subarray(shift)
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
        const block = new Block(whole.gate, view, bytes, whole.address + shift)
        for (let base = 0; base < 16; base++) {
          const make = (): unknown => tensor(dtype, [1], new Segment(block, base, 16, 0))
          if ((shift + base) % alignment === 0) expect(make).not.toThrow()
          else expect(make).toThrow(AlignmentError)
        }
      }
    },
  )

  test('reading elements leaves the memory unexposed, so that it can be lent again; dead memory is refused', () => {
    const x = tensor('f32', [2], [1, 2])
    const packed = tensor('uint4', [3], gcAllocator.allocate(8).asSlice(4), { packing: 'packed' })
    expect([x.toArray(), packed.toArray()]).toEqual([
      [1, 2],
      [0, 0, 0],
    ])
    expect([x.segment.block.exposed, packed.segment.block.exposed]).toEqual([false, false])
    ;(x.view().buffer as ArrayBuffer).transfer()
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(() => x.view()).toThrow(ScopeClosedError)
  })

  if ('Float16Array' in globalThis) {
    test('float16 takes the Float16Array of newer engines', () => {
      const values = new Float16Array([1.5, -2])
      expect(tensor('f16', [2], values).toArray()).toEqual([1.5, -2])
      expect(() => tensor('bf16', [2], values as never)).toThrow(ArgumentError)
      expect(() => tensor('f16', [3], values)).toThrow(ArgumentError)
    })
  }

  test('a device is a type and an id, copied', () => {
    const segment = gcAllocator.allocate(8)
    for (const device of [
      5,
      null,
      'cuda',
      {},
      { type: 2 },
      { type: 2, id: -1 },
      { type: 0, id: 0 },
      { type: 2.5, id: 0 },
    ]) {
      expect(() => tensor('f32', [2], segment, { device: device as never })).toThrow(/device must have a type/)
    }
    const mine = { type: 2, id: 1 }
    const x = tensor('f32', [2], segment, { device: mine })
    mine.type = 1
    expect(x.device).toEqual({ type: 2, id: 1 })
  })

  test('options that are none are refused', () => {
    for (const options of [null, 5, 'packed']) {
      expect(() => tensor('f32', [2], undefined, options as never)).toThrow(/options must be an object/)
    }
  })

  test('memory of another device can be passed on, not read', () => {
    const x = tensor('f32', [2], gcAllocator.allocate(8), { device: { type: 2, id: 0 } })
    expect(() => x.view()).toThrow(/must be on the CPU to be read, got one on device type 2/)
    expect(() => x.toArray()).toThrow(ArgumentError)
  })
})

test('the words of an address are its two halves', () => {
  const view = new DataView(new ArrayBuffer(8))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (address) => {
      writeAddress(view, 0, address)
      expect(view.getBigUint64(0, true)).toBe(BigInt(address))
      expect([view.getInt32(0, true), view.getInt32(4, true)]).toEqual([lowWord(address), highWord(address)])
    }),
  )
})
