import {
  AllocationError,
  ArgumentError,
  gcAllocator,
  ScopeClosedError,
  Segment,
  type NativeAllocator,
} from '@tenon/core'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { rfcAssign, StringTensor, tstringCopy, tstringGetSize, tstringInit } from '../src/index.ts'
import { bytesOf, everyLayout, hex, memory } from './helpers.ts'
import { Lifetime } from './lifetime.ts'

const words = ['zero', 'one', 'a string that is longer than a struct']

/** An array whose element 0 runs code when it is read. */
function withGetter(values: string[], run: () => void): string[] {
  const array = [...values]
  Object.defineProperty(array, 0, {
    get: () => {
      run()
      return values[0]
    },
  })
  return array
}

/** An allocator that lends parts of one block, as a scope does. The bytes behind each part must not change. */
class Neighbours implements NativeAllocator {
  readonly whole = gcAllocator.allocate(1 << 16, 64)
  #at = 0

  constructor() {
    this.whole.block.bytes.fill(0x77)
  }

  allocate(byteSize: number, byteAlignment = 16): Segment {
    const start = Math.ceil(this.#at / byteAlignment) * byteAlignment
    this.#at = start + byteSize + 256
    return this.whole.asSlice(start, byteSize)
  }

  /** Whether the bytes behind every part are as they were. */
  isIntact(used: readonly Segment[]): boolean {
    return used.every(({ base, byteSize }) =>
      this.whole.block.bytes.subarray(base + byteSize, base + byteSize + 200).every((byte) => byte === 0x77),
    )
  }
}

/** A Uint8Array whose properties lie about its size. */
function lying(size: number, claimed: number): Uint8Array {
  const bytes = new Uint8Array(size).fill(0x41)
  for (const name of ['length', 'byteLength']) Object.defineProperty(bytes, name, { value: claimed })
  Object.defineProperty(bytes, 'byteOffset', { value: 4096 })
  return bytes
}

describe('an array whose getters run code', () => {
  it.each(everyLayout)('%s: may grow and shrink while it is read', (layout) => {
    const allocator = new Neighbours()
    const growing = withGetter(['a', 'b'], () => growing.push('B'.repeat(10), 'C'.repeat(30)))
    const tensor = StringTensor.from(growing, { layout, allocator })
    expect([tensor.toArray(), allocator.isIntact([tensor.segment])]).toEqual([['a', 'b'], true])
    const shrinking = withGetter(['a', 'b'], () => (shrinking.length = 1))
    expect(() => StringTensor.from(shrinking, { layout })).toThrow(/element 1 must be a string or a Uint8Array/)
  })

  it('is read once', () => {
    for (const layout of everyLayout) {
      let reads = 0
      StringTensor.from(
        withGetter(words, () => reads++),
        { layout },
      )
      expect(reads).toBe(1)
    }
  })

  it.each(everyLayout)('%s: may close the memory into which it is written', (layout) => {
    for (const first of ['a', 'a string that is longer than a struct']) {
      const lifetime = new Lifetime()
      const closing = withGetter([first, 'b'.repeat(40)], () => lifetime.close())
      expect(() => StringTensor.from(closing, { layout, allocator: lifetime })).toThrow(ScopeClosedError)
    }
  })

  it('is refused if its length is not one', () => {
    for (const length of [-1, 0.5, NaN, 2 ** 32, 'abc', { valueOf: () => 2 }]) {
      const array = new Proxy(['a'], { get: (target, key) => (key === 'length' ? length : Reflect.get(target, key)) })
      expect(() => StringTensor.from(array)).toThrow(ArgumentError)
    }
    const sparse: string[] = []
    sparse.length = 2 ** 32 - 1
    for (const layout of everyLayout) expect(() => StringTensor.from(sparse, { layout })).toThrow(/element 0|could not/)
  })
})

describe('bytes that lie about their size', () => {
  it('are written and read by their real size', () => {
    for (const layout of everyLayout) {
      for (const [size, claimed] of [
        [1000, 5],
        [5, 1000],
        [40, 10],
      ] as const) {
        const allocator = new Neighbours()
        const tensor = StringTensor.from([lying(size, claimed), 'b'], { layout, allocator })
        expect([tensor.byteLength(0), tensor.get(1), allocator.isIntact([tensor.segment])]).toEqual([size, 'b', true])
      }
    }
    const tensor = StringTensor.from(['A'.repeat(40), 'b'])
    expect([
      tensor.equals(0, lying(40, 3)),
      tensor.indexOf(lying(40, 1 << 30)),
      tensor.compare(0, lying(40, 0)),
    ]).toEqual([true, 0, 0])
    tensor.set(1, lying(30, 5))
    expect(tensor.get(1)).toBe('A'.repeat(30))
    const struct = memory(new Uint8Array(24))
    tstringCopy(struct, lying(20, 1 << 30))
    expect(tstringGetSize(struct)).toBe(20)
    const container = memory(new Uint8Array(24))
    rfcAssign(container, 'rfc24', lying(10, 1 << 30))
    expect(bytesOf(container)).toEqual(hex('28 41*10 00*13'))
    const data = StringTensor.ofArrowUtf8(lying(5, 1 << 20), Int32Array.of(0, 5))
    expect(data.get(0)).toBe('AAAAA')
    expect(() => StringTensor.ofArrowUtf8(lying(5, 1 << 20), Int32Array.of(0, 6))).toThrow(/arrow-range/)
  })

  it('are refused if they are proxies, or objects with the prototype of bytes', () => {
    for (const value of [new Proxy(new Uint8Array(4), {}), Object.create(Uint8Array.prototype) as Uint8Array]) {
      for (const layout of everyLayout) {
        expect(() => StringTensor.from([value], { layout })).toThrow(/element 0 must be a string or a Uint8Array/)
      }
      expect(() => StringTensor.from(['a']).set(0, value)).toThrow(ArgumentError)
      expect(() => StringTensor.from(['a']).indexOf(value)).toThrow(ArgumentError)
      expect(() => StringTensor.ofArrowUtf8(value, Int32Array.of(0))).toThrow(ArgumentError)
    }
  })

  it('are refused if their buffer belongs to another context, whose buffers cannot be checked', () => {
    const context = createContext()
    for (const source of ['new Uint8Array(40)', 'new Uint8Array(new ArrayBuffer(40, { maxByteLength: 80 }))']) {
      const bytes = runInContext(source, context) as Uint8Array
      expect(() => StringTensor.from(['a']).indexOf(bytes)).toThrow(/value must be .* of this context/)
      expect(() => StringTensor.ofSegment(bytes, { layout: 'tf', shape: [1] })).toThrow(ArgumentError)
      expect(StringTensor.from([bytes]).byteLength(0)).toBe(40)
    }
  })

  it('are refused if their buffer was transferred away', () => {
    const bytes = new Uint8Array(40)
    bytes.buffer.transfer()
    for (const layout of everyLayout) {
      expect(() => StringTensor.from(['a', bytes], { layout })).toThrow(/element 1 must be .* attached/)
    }
    expect(() => StringTensor.from(['a']).set(0, bytes)).toThrow(/attached/)
  })
})

describe('shapes, indices and options', () => {
  it('are read once', () => {
    const shape = [2, 2]
    let reads = 0
    Object.defineProperty(shape, 0, { get: () => (reads++ === 0 ? 2 : 1000) })
    const tensor = StringTensor.from(['a', 'b', 'c', 'd'], { shape })
    expect([tensor.shape, tensor.length]).toEqual([[2, 2], 4])
    reads = 0
    const outside = StringTensor.ofSegment(tensor.to('tf', { storage: 'packed' }).segment, { layout: 'tf', shape })
    expect([outside.shape, outside.slice(1).toArray()]).toEqual([
      [2, 2],
      ['c', 'd'],
    ])
    let picks = 0
    const indices = [0, 1]
    Object.defineProperty(indices, 1, { get: () => (picks++ === 0 ? 3 : 2 ** 31) })
    expect(tensor.gather(indices).toArray()).toEqual(['a', 'd'])
    const options = {
      get layout() {
        return picks++ === 1 ? 'tflite' : 'tf'
      },
    } as { layout: 'tflite' }
    expect(StringTensor.ofSegment(tensor.to('tflite').segment, options).toArray()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('do not skip the holes of a shape', () => {
    const holes = [2, 0, 2]
    delete holes[1]
    expect(() => StringTensor.from(['a', 'b', 'c', 'd'], { shape: holes })).toThrow(/shape\[1\] must be/)
  })

  it('may be so large that a shape without elements has an infinite product', () => {
    const shape = [0, ...Array.from({ length: 25 }, () => 2 ** 50)]
    const tensor = StringTensor.from([], { shape })
    expect([tensor.slice(0).length, tensor.slice(0).shape]).toEqual([0, shape])
  })

  it('may close the memory', () => {
    for (const layout of everyLayout) {
      const uses: ((tensor: StringTensor, close: () => void) => unknown)[] = [
        (tensor, close) =>
          tensor.get(2, {
            get invalid() {
              close()
              return 'latin1' as const
            },
          }),
        (tensor, close) =>
          tensor.toArray({
            get slices() {
              close()
              return false
            },
          }),
        (tensor, close) =>
          tensor.to('tflite', {
            get abi() {
              close()
              return 'be64' as const
            },
          }),
        (tensor, close) =>
          tensor.toArrowUtf8({
            get large() {
              close()
              return false
            },
          }),
        (tensor, close) => tensor.gather(withGetter([0] as never, close) as never),
        (tensor, close) =>
          StringTensor.ofSegment(tensor.segment, { layout, shape: withGetter([3] as never, close) as never }),
        (tensor, close) =>
          StringTensor.ofSegment(tensor.segment, {
            layout,
            shape: [3],
            get validate() {
              close()
              return 'trusted' as const
            },
          }).get(0),
      ]
      for (const use of uses) {
        const lifetime = new Lifetime()
        const tensor = StringTensor.from(words, { layout, allocator: lifetime })
        expect(() => use(tensor, () => lifetime.close())).toThrow(ScopeClosedError)
      }
    }
  })
})

describe('an allocator', () => {
  it('is refused if it is none, or returns something else than it was asked for', () => {
    for (const allocator of [null, {}, { allocate: 1 }]) {
      expect(() => StringTensor.from(['a'], { allocator: allocator as never })).toThrow(/allocator must be/)
    }
    const results = [undefined, {}, memory('abc'), gcAllocator.allocate(4096, 64).asSlice(1)]
    for (const result of results) {
      const allocator = { allocate: () => result } as never
      for (const layout of everyLayout) {
        expect(() => StringTensor.from(words, { layout, allocator })).toThrow(AllocationError)
      }
      expect(() => StringTensor.ofCapacity(4, 16, { allocator })).toThrow(AllocationError)
      expect(() => StringTensor.ofArrowUtf8(Buffer.from('a'), Int32Array.of(0, 1), { allocator })).toThrow(
        AllocationError,
      )
    }
  })

  it('may close the memory of the tensor while a string is set', () => {
    const lifetime = new Lifetime()
    let closes = false
    const allocator: NativeAllocator = {
      allocate(byteSize, byteAlignment) {
        if (closes) lifetime.close()
        return closes ? gcAllocator.allocate(byteSize, byteAlignment) : lifetime.allocate(byteSize, byteAlignment)
      },
    }
    const tensor = StringTensor.from(['a', 'b'], { allocator })
    closes = true
    expect(() => tensor.set(0, 'x'.repeat(40))).toThrow(ScopeClosedError)
  })

  it('may close the memory of earlier long strings, which is not written to any more', () => {
    const lifetime = new Lifetime()
    let isTable = true
    const allocator: NativeAllocator = {
      allocate: (byteSize, byteAlignment) => (isTable ? gcAllocator : lifetime).allocate(byteSize, byteAlignment),
    }
    const tensor = StringTensor.from(['a', 'b'], { allocator })
    isTable = false
    tensor.set(0, 'x'.repeat(40))
    lifetime.close()
    expect(() => tensor.set(1, 'y'.repeat(40))).toThrow(ScopeClosedError)
    expect(tensor.get(1)).toBe('b')
  })

  it('may set strings while compact() makes room', () => {
    let sets = false
    const neighbours = new Neighbours()
    const lent: Segment[] = []
    const allocator: NativeAllocator = {
      allocate(byteSize, byteAlignment) {
        if (sets) {
          sets = false
          tensor.set(0, 'x'.repeat(5000))
        }
        const segment = neighbours.allocate(byteSize, byteAlignment)
        lent.push(segment)
        return segment
      },
    }
    const tensor = StringTensor.from(['a'.repeat(30), 'b'.repeat(30)], { allocator })
    sets = true
    expect(() => tensor.compact()).toThrow(/changed/)
    expect([neighbours.isIntact(lent), tensor.toArray()]).toEqual([true, ['x'.repeat(5000), 'b'.repeat(30)]])
  })
})

describe('a segment', () => {
  it('is refused if it is a proxy that lies about its size', () => {
    const { segment } = StringTensor.from(words, { layout: 'tflite' })
    const far = new Proxy(segment, { get: (target, key) => (key === 'byteSize' ? 1 << 30 : Reflect.get(target, key)) })
    expect(() => StringTensor.ofSegment(far, { layout: 'tflite' })).toThrow(ArgumentError)
    expect(() =>
      tstringInit(
        new Proxy(memory(new Uint8Array(24)), {
          get: (target, key) => (key === 'base' ? -64 : Reflect.get(target, key)),
        }),
      ),
    ).toThrow(ArgumentError)
    const forged = Object.assign(Object.create(Segment.prototype), {
      block: {},
      base: 0,
      byteSize: 24,
      flags: 0,
    }) as Segment
    expect(() => tstringInit(forged)).toThrow(ArgumentError)
  })

  it('may close its memory while it is read', () => {
    const lifetime = new Lifetime()
    const { segment } = StringTensor.from(words, { layout: 'tflite', allocator: lifetime })
    const closing = new Proxy(segment, {
      get(target, key) {
        if (key === 'base' && lifetime.isAlive) lifetime.close()
        return Reflect.get(target, key) as unknown
      },
    })
    expect(() => StringTensor.ofSegment(closing, { layout: 'tflite' })).toThrow(ScopeClosedError)
    const other = new Lifetime()
    const string = other.allocate(24)
    const ending = new Proxy(memory(new Uint8Array(24)), {
      get(target, key) {
        if (key === 'base' && other.isAlive) other.close()
        return Reflect.get(target, key) as unknown
      },
    })
    expect(() => tstringCopy(string, ending as never)).toThrow(ArgumentError)
  })
})

describe('a tensor', () => {
  it('is refused if it is a proxy or has only its prototype', () => {
    using tensor = StringTensor.from(words, { storage: 'malloc' })
    for (const other of [new Proxy(tensor, {}), Object.create(StringTensor.prototype) as StringTensor]) {
      expect(() => tensor.compareAll(other)).toThrow(ArgumentError)
      expect(() => tensor.assign(0, other, 0)).toThrow(ArgumentError)
      expect(() => tensor.move(0, other, 0)).toThrow(ArgumentError)
    }
  })
})
