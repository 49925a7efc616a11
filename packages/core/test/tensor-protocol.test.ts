import { describe, expect, test } from 'vitest'
import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  from,
  gcAllocator,
  ScopeClosedError,
  tensor,
  tensorSymbol,
  type FromOptions,
  type Tensor,
  Segment,
} from '@tenon/core'
import { addressOf, Block, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'

const bytes = Float32Array.of(1, 2, 3, 4, 5, 6)
const offer = (description: object): object => ({ [tensorSymbol]: () => ({ version: 1, ...description }) })
const take = (value: unknown, options?: FromOptions): Tensor => from(value as never, options)

class Owner extends ManagedLifetime {
  protected readonly label = 'the owner'
  protected release(): void {}
}

describe('tensors and segments offer their memory', () => {
  test('a tensor describes its layout, and a reader sees the same memory', () => {
    const x = tensor('f32', [2, 3], [1, 2, 3, 4, 5, 6])
    const { buffer, byteOffset, strides, shape, dtype, device, owner } = x.transpose()[tensorSymbol]()
    expect([dtype, shape, strides, device]).toEqual(['float32', [3, 2], [1, 3], { type: 1, id: 0 }])
    expect(owner).toBeDefined()
    new Float32Array(buffer as ArrayBuffer, byteOffset)[1] = 20
    expect(x.toArray()).toEqual([1, 20, 3, 4, 5, 6])
    const again = take({ [tensorSymbol]: () => x.transpose()[tensorSymbol]() })
    expect([again.toNested(), again.address]).toEqual([
      [
        [1, 4],
        [20, 5],
        [3, 6],
      ],
      x.address,
    ])
    expect(Object.keys(x)).not.toContain(String(tensorSymbol))
    expect(gcAllocator.allocate(3)[tensorSymbol]()).toMatchObject({ dtype: 'uint8', shape: [3], version: 1 })
  })

  test('read-only memory is offered as a copy', () => {
    const { block, base } = gcAllocator.allocate(4)
    const segment = new Segment(block, base, 4, READ_ONLY)
    const { buffer, byteOffset, copied } = segment[tensorSymbol]()
    new Uint8Array(buffer as ArrayBuffer)[byteOffset!] = 9
    expect([copied, segment.view().getUint8(0)]).toEqual([true, 0])
  })

  test('closed memory is not offered, and ends with its lifetime at a reader', () => {
    const owner = new Owner()
    const buffer = new SharedArrayBuffer(8)
    const block = new Block(owner.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer))
    const segment = new Segment(block, 0, 8, 0)
    const x = take({ [tensorSymbol]: () => segment[tensorSymbol]() })
    const y = take({ data: new Float32Array(buffer), dims: [2] })
    expect([x.segment.lifetime, y.segment.lifetime]).toEqual([owner, owner])
    owner.close()
    for (const one of [x, y]) expect(() => one.toArray()).toThrow(ScopeClosedError)
    expect(() => segment[tensorSymbol]()).toThrow(ScopeClosedError)
  })
})

describe('memory of others stays open while it is used', () => {
  test('a pin holds the memory at its producer', () => {
    let holds = 0
    const hold = (): { release(): void } => {
      holds++
      return { release: () => void holds-- }
    }
    const owner = {}
    const x = take(offer({ dtype: 'float32', shape: [6], buffer: bytes.buffer.slice(0), owner, hold }))
    expect(holds).toBe(0)
    const pins = [x.segment.pin(), x.segment.pin()]
    expect(holds).toBe(1)
    for (const pin of pins) pin.release()
    expect(holds).toBe(0)
    expect(x.toArray()[0]).toBe(1)
  })

  test('a producer can refuse a hold', () => {
    const hold = (): never => {
      throw new Error('closed')
    }
    const x = take(offer({ dtype: 'float32', shape: [1], buffer: new ArrayBuffer(4), owner: {}, hold }))
    expect(() => x.segment.pin()).toThrow('closed')
  })

  test('an address is believed on request, and keeps its owner', () => {
    const memory = tensor('f32', [2], [1, 2])
    const at = { dtype: 'float32', shape: [2], address: BigInt(memory.address), byteSize: 8 }
    const x = take(offer({ ...at, owner: memory, readOnly: true }), { trustAddress: true })
    expect([x.toArray(), x.segment.readOnly]).toEqual([[1, 2], true])
    expect(() => take(offer({ ...at, byteSize: 4 }), { trustAddress: true })).toThrow(BoundsError)
    expect(() => take(offer({ ...at, address: -1n }), { trustAddress: true })).toThrow(ArgumentRangeError)
  })

  test('a transferred buffer is noticed', () => {
    const values = new Float32Array(4)
    const found = { data: values, dims: [4] }
    const x = take(found)
    structuredClone(null, { transfer: [values.buffer] })
    expect(() => x.toArray()).toThrow(ScopeClosedError)
    expect(() => take(found)).toThrow(ArgumentError)
  })
})
