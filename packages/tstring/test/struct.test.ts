import { gcAllocator } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { decodeStruct, encodeStruct, StringTensor } from '../src/index.ts'
import * as api from '../src/index.ts'
import { awkward, bytesOf, everyAbi, hex, memory } from './helpers.ts'
import { freeing, make, offsetString, text } from './shipped-strings.ts'

describe('the struct', () => {
  it('a zeroed struct is the empty SMALL', () => {
    for (const abi of everyAbi) {
      expect(decodeStruct(new Uint8Array(24), { layout: 'tf', abi })).toEqual({
        type: 'small',
        bytes: new Uint8Array(0),
      })
    }
    const tensor = StringTensor.ofSegment(gcAllocator.allocate(72), { layout: 'tf', shape: [3] })
    expect(tensor.toArray()).toEqual(['', '', ''])
  })

  it('the type is the low two bits of byte 0 on every ABI', () => {
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      expect(encodeStruct({ type: 'small', bytes: hex('61') }, options)[0]! & 3).toBe(0)
      expect(encodeStruct({ type: 'large', size: 29n, capacity: 31n, pointer: 16n }, options)[0]! & 3).toBe(1)
      expect(encodeStruct({ type: 'offset', size: 29, offset: 24, count: 1 }, options)[0]! & 3).toBe(2)
      expect(encodeStruct({ type: 'view', size: 29n, pointer: 16n, owner: 0n }, options)[0]! & 3).toBe(3)
    }
  })

  it('byte 0 of a SMALL is its size times four, 0 to 22', () => {
    for (let size = 0; size <= 22; size++) {
      const string = make('x'.repeat(size))
      expect(bytesOf(string)[0]).toBe(size << 2)
      expect(api.tstringGetType(string)).toBe('small')
    }
    const tooLarge = hex('5c 00*23')
    expect(() => StringTensor.ofSegment(memory(tooLarge), { layout: 'tf', shape: [1] })).toThrow(
      /small-size.*element 0.*22.*23/,
    )
    expect(() => decodeStruct(tooLarge, { layout: 'tf', abi: 'be32' })).toThrow(RangeError)
  })

  it('a NUL always follows the bytes of a SMALL', () => {
    const string = make('x'.repeat(22))
    expect(bytesOf(string)[23]).toBe(0)
    api.tstringCopy(string, 'abc')
    expect(bytesOf(string)[4]).toBe(0)
    const bytes = hex('04 61 62 00*21')
    expect(() => StringTensor.ofSegment(memory(bytes), { layout: 'tf', shape: [1] })).toThrow(
      /small-nul.*element 0.*0x62/,
    )
    expect(StringTensor.ofSegment(memory(bytes), { layout: 'tf', shape: [1], validate: 'lenient' }).get(0)).toBe('a')
  })

  it('22 bytes are SMALL, 23 are LARGE', () => {
    const strings = [make('x'.repeat(22)), make('x'.repeat(23))]
    freeing(strings, () => expect(strings.map(api.tstringGetType)).toEqual(['small', 'large']))
  })

  it('the size word of a LARGE has the shipped bytes on every ABI', () => {
    const struct = { type: 'large', size: 29n, capacity: 31n, pointer: 0x1234n } as const
    const expected = {
      le64: hex('7500000000000000 1f00000000000000 3412000000000000'),
      be64: hex('010000000000001d 000000000000001f 0000000000001234'),
      le32: hex('75000000 1f000000 34120000 00*12'),
      be32: hex('0100001d 0000001f 00001234 00*12'),
    }
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      expect(encodeStruct(struct, options)).toEqual(expected[abi])
      expect(decodeStruct(expected[abi], options)).toEqual(struct)
    }
  })

  it('the words of an OFFSET are little-endian on every ABI', () => {
    const struct = { type: 'offset', size: 29, offset: 0x18, count: 2 } as const
    for (const abi of everyAbi) {
      const bytes = encodeStruct(struct, { layout: 'tf', abi })
      expect(bytes).toEqual(hex('76000000 18000000 02000000 00*12'))
      expect(decodeStruct(bytes, { layout: 'tf', abi })).toEqual(struct)
    }
  })

  it('a reader does not read past 22 bytes of a SMALL', () => {
    const bytes = hex('fc 61*23 62*24')
    expect(() => StringTensor.ofSegment(memory(bytes), { layout: 'tf', shape: [2], validate: 'lenient' })).toThrow(
      /small-size/,
    )
    const trusted = StringTensor.ofSegment(memory(bytes), { layout: 'tf', shape: [2], validate: 'trusted' })
    expect(() => trusted.get(0)).toThrow(/small-size.*got 63/)
    expect(() => trusted.to('tflite')).toThrow(/small-size.*got 63/)
  })

  it('sizes that reach into the type bits are refused', () => {
    const limits = { le64: 2n ** 62n, be64: 2n ** 62n, le32: 2n ** 30n, be32: 2n ** 30n } as const
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      const view = { type: 'view', pointer: 16n, owner: 0n } as const
      const large = { type: 'large', capacity: 0n, pointer: 0n } as const
      const limit = limits[abi]
      for (const size of [0n, limit >> 8n, (limit >> 8n) + 5n, limit >> 7n, (limit >> 6n) + 1n, limit - 1n]) {
        const struct = { ...view, size }
        expect(decodeStruct(encodeStruct(struct, options), options)).toEqual(struct)
      }
      expect(() => encodeStruct({ ...view, size: limit }, options)).toThrow(RangeError)
      expect(() => encodeStruct({ ...large, size: limit }, options)).toThrow(RangeError)
      // On big-endian machines the bit below the top byte would turn a LARGE into a VIEW.
      const bit = limit >> 7n
      const kept = [bit - 1n, bit * 2n, bit * 4n + 1n]
      for (const size of abi.startsWith('le') ? [...kept, bit, limit - 1n] : kept) {
        const struct = { ...large, size }
        expect(decodeStruct(encodeStruct(struct, options), options)).toEqual(struct)
      }
      if (abi.startsWith('le')) continue
      expect(() => encodeStruct({ ...large, size: bit }, options)).toThrow(/bit (55|23) is 0/)
      expect(() => encodeStruct({ ...large, size: limit - 1n }, options)).toThrow(RangeError)
    }
    const bytes = hex('03400000 10000000 00000000 00*12')
    const options = { layout: 'tf', abi: 'be32' } as const
    expect(decodeStruct(bytes, options)).toEqual({ type: 'view', size: 2n ** 22n, pointer: 2n ** 28n, owner: 0n })
    expect(encodeStruct(decodeStruct(bytes, options), options)).toEqual(bytes)
  })
})

describe('content', () => {
  it('the bytes of an OFFSET lie at its own address plus the offset', () => {
    const string = offsetString('offset')
    expect(api.tstringGetDataPointer(string)).toBe(string.address + 24n)
    expect(text(string)).toBe('offset')
  })

  it('NUL, invalid UTF-8, BOM and surrogates are ordinary bytes', () => {
    for (const storage of ['arena', 'malloc', 'packed'] as const) {
      using tensor = StringTensor.from(awkward, { storage })
      awkward.forEach((bytes, i) => expect(Uint8Array.from(tensor.bytes(i))).toEqual(bytes))
    }
    expect(StringTensor.from(['\ufeffa\0b']).get(0)).toBe('\ufeffa\0b')
  })

  it('order is that of unsigned bytes, then of length', () => {
    const tensor = StringTensor.from([hex('61'), hex('61 00'), hex('80'), hex('61'), hex('ff'), new Uint8Array(0)])
    expect(tensor.compare(0, 1)).toBe(-1)
    expect(tensor.compare(2, 0)).toBe(1)
    expect(tensor.compare(0, 3)).toBe(0)
    expect(tensor.compare(4, 2)).toBe(1)
    expect(tensor.compare(5, 0)).toBe(-1)
    expect([...tensor.compareAll('a')]).toEqual([0, 1, 1, 0, 1, -1])
  })

  it('an arena has only SMALL and VIEW, and blocks of malloc are LARGE', () => {
    const values = ['short', 'l'.repeat(40), 'é'.repeat(30)]
    const arena = StringTensor.from(values)
    arena.set(0, 'now long enough to be elsewhere')
    expect(values.map((_, i) => arena.type(i))).toEqual(['view', 'view', 'view'])
    const tensor = StringTensor.from(values, { storage: 'malloc' })
    expect(values.map((_, i) => tensor.type(i))).toEqual(['small', 'large', 'large'])
    tensor[Symbol.dispose]()
    expect(bytesOf(tensor.segment)).toEqual(hex('14 73686f7274 00*66'))
  })
})
