import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ReadOnlyError, Segment, tensor, type Tensor } from '@tenon/core'
import { addressOf, READ_ONLY } from '@tenon/core/internal'
import { fromDLPack, NativeTensor, OpaquePointer, type PackedFuncError, toDLPack } from '../src/index.ts'
import { collect, collectAll, isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const addOne = kernel('add_one')
const close = (x: Tensor): void => (x.segment.lifetime as unknown as Disposable)[Symbol.dispose]()

describe.each([true, false])('managed tensors of DLPack, versioned: %s', (versioned) => {
  it('share the memory of the tensor', () => {
    const x = tensor('float32', [2, 3], [1, 2, 3, 4, 5, 6])
    const back = fromDLPack(toDLPack(x, { versioned }), { versioned }) as Tensor
    expect([back.dtype, back.shape, back.address]).toEqual(['float32', [2, 3], x.address])
    back.view()[0] = 7
    expect(x.view()[0]).toBe(7)
    close(back)
  })

  it('hold the memory until their deleter is called', async () => {
    const before = live()
    const pointer = toDLPack(tensor('float32', [2], [1, 2]), { versioned })
    await collectAll()
    const back = fromDLPack(pointer, { versioned }) as Tensor
    addOne(back, back)
    expect(back.toArray()).toEqual([2, 3])
    close(back)
    expect(live().foreign).toBeLessThanOrEqual(before.foreign)
    expect(live().native).toBeLessThanOrEqual(before.native)
  })

  it('are released by the garbage collector', async () => {
    const before = live().foreign
    for (let i = 0; i < 20; i++) fromDLPack(toDLPack(tensor('int8', [i + 1]), { versioned }), { versioned })
    await collect(() => live().foreign <= before)
    expect(live().foreign).toBeLessThanOrEqual(before)
  })

  it('are left to the caller if they are not aligned', () => {
    const x = tensor('int8', [64])
    const pointer = toDLPack(x, { versioned })
    const alignment = 2 ** 30
    const error = thrownBy(() => fromDLPack(pointer, { versioned, alignment })) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual([
      'RuntimeError',
      `FromDLPack: Data is not aligned to ${alignment} bytes.`,
    ])
    close(fromDLPack(pointer, { versioned, alignment: 1 }) as Tensor)
  })
})

describe('DLPack', () => {
  it('records read-only memory, or refuses it in the form that cannot', () => {
    const { block, base, byteSize } = tensor('float32', [2], [1, 2]).segment
    const sealed = tensor('float32', [2], new Segment(block, base, byteSize, READ_ONLY))
    const back = fromDLPack(toDLPack(sealed)) as Tensor
    // Other tvm-ffi libraries drop the flags of a managed tensor.
    expect(back.segment.readOnly).toBe(isOwnLibrary)
    close(back)
    expect(() => toDLPack(sealed, { versioned: false })).toThrow(ReadOnlyError)
  })

  const FLOAT32 = 0x0001_2002n
  it.each([
    ['memory at a null address', { address: 0n }, 'its data must not be null'],
    ['more elements than 2^53', { size: 2n ** 60n }, /^its type must be one of Tenon, but shape\[0\] must/],
    ['a negative size', { size: -4n }, 'its sizes must not be negative, got [-4]'],
    ['a negative stride', { stride: -1n }, 'its strides must not be negative, got [-1]'],
    ['vectors as elements', { dtype: 0x0004_2002n }, 'its elements must be single values, got vectors of 4 lanes'],
    [
      'elements of 33 bits',
      { dtype: 0x0001_2100n },
      /^its elements must have a type of Tenon, got 33 bits of the type code 0/,
    ],
    ['memory of a device', { device: 2n }, 'its memory must be on the CPU, got device type 2 of DLPack'],
    ['memory that is not aligned', { address: 4098n }, 'its memory must be aligned to 4 bytes, got 0x1002'],
  ])('a tensor that Tenon cannot read is a native object with the reason: %s', (_, changes, reason) => {
    const before = live()
    const parts = { address: 4096n, size: 4n, stride: 1n, dtype: FLOAT32, device: 1n, ...changes }
    const block = new BigUint64Array(12)
    const start = BigInt(addressOf(block))
    const bits = (value: bigint): bigint => BigInt.asUintN(64, value)
    // A version, no context, no deleter, no flags; then data, the device, one axis and the element type, shape and strides.
    block.set([1n, 0n, 0n, 0n, parts.address, parts.device, 1n | (parts.dtype << 32n), start + 80n, start + 88n, 0n])
    block.set([bits(parts.size), bits(parts.stride)], 10)
    const made = fromDLPack(new OpaquePointer(start)) as NativeTensor
    expect(made).toBeInstanceOf(NativeTensor)
    expect(made.typeKey).toBe('ffi.Tensor')
    expect(made.reason).toMatch(reason)
    expect(String(made)).toBe(`[ffi.Tensor: ${made.reason}]`)
    expect(inspect(made)).toBe(String(made))
    made.close()
    expect(live()).toEqual(before)
  })

  it('refuses values that are not tensors or pointers, and closed tensors', () => {
    expect(() => toDLPack(1 as never)).toThrow('tensor must be a tensor, got 1')
    expect(() => fromDLPack(1n as never)).toThrow('pointer must be the address of a managed tensor')
    const nothing = kernel('some_pointer')() as OpaquePointer
    if (nothing.address === 0n) expect(() => fromDLPack(nothing)).toThrow('managed tensor')
    for (const alignment of [0, 1.5, NaN, 2 ** 31])
      expect(() => fromDLPack(kernel('some_pointer')(1) as OpaquePointer, { alignment })).toThrow('alignment must be')
    const made = kernel('make_range')(3) as Tensor
    close(made)
    expect(() => toDLPack(made)).toThrow('native tensor')
  })
})
