import { describe, expect, it } from 'vitest'
import { ReadOnlyError, Segment, tensor, type Tensor } from '@tenon/core'
import { addressOf, READ_ONLY } from '@tenon/core/internal'
import { fromDLPack, NativeObject, OpaquePointer, type PackedFuncError, toDLPack } from '../src/index.ts'
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

  it.each([
    ['memory at a null address', 4n, 0n],
    ['more elements than 2^53', 2n ** 60n, 4096n],
    ['a negative size', -4n, 4096n],
    ['memory that is not aligned to its elements', 4n, 4098n],
  ])('a tensor that Tenon cannot read is a native object: %s', (_, size, address) => {
    const before = live()
    const block = new BigUint64Array(11)
    const start = BigInt(addressOf(block))
    // A version, no context, no deleter, no flags; then data, the CPU, one axis, float32, its shape.
    block.set([1n, 0n, 0n, 0n, address, 1n, 1n | (0x0001_2002n << 32n), start + 80n, 0n, 0n, BigInt.asUintN(64, size)])
    const made = fromDLPack(new OpaquePointer(start)) as NativeObject
    expect(made).toBeInstanceOf(NativeObject)
    expect(made.typeKey).toBe('ffi.Tensor')
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
