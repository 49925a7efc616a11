import { tensor, type Tensor } from '@tenon/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  dataType,
  device,
  float,
  getGlobal,
  int,
  OpaquePointer,
  type PackedFuncError,
  PackedFuncTypeError,
  RuntimeError,
  shape,
  ValueError,
} from '../src/index.ts'
import { decodeCallback, decodeValue, type TensorReferences } from '../src/remote/decode-values.ts'
import { encodeArguments, encodeReturned, encodeThrown, type ValueReferences } from '../src/remote/encode-values.ts'
import { decodeError } from '../src/remote/remote-error.ts'

const operands: Tensor[] = []
const written: ValueReferences = {
  operandOf: (one) => {
    const known = operands.indexOf(one)
    return known === -1 ? operands.push(one) - 1 : known
  },
  idOf: () => 7,
}
const read: TensorReferences = { operandAt: (index) => operands[index], partAt: () => undefined }
const copied: ValueReferences = { ...written, operandOf: () => undefined }

const roundTrip = (...values: unknown[]): unknown => decodeValue(encodeArguments(values, written), read)

describe('the values of packed functions in another process', () => {
  test('numbers, text and bytes return as they were passed', () => {
    const values = [
      null,
      true,
      false,
      0,
      -1,
      127,
      128,
      -33,
      2 ** 40,
      -(2 ** 53) + 1,
      1.5,
      -0,
      Number.NaN,
      'ß'.repeat(40),
      '',
    ]
    expect(roundTrip(...values)).toEqual(values)
    expect(roundTrip(undefined, 2n ** 62n, int(3), float(2))).toEqual([null, 2n ** 62n, 3, 2])
    expect(roundTrip(new Uint8Array([1, 2]), new Uint8Array(300))).toEqual([
      new Uint8Array([1, 2]),
      new Uint8Array(300),
    ])
  })

  test('property: any tree of values returns equal', () => {
    const leaf = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true }),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.string({ unit: 'grapheme', maxLength: 70 }),
      fc.uint8Array({ maxLength: 70 }),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('tree')),
        fc.array(fc.tuple(fc.string(), tie('tree'))).map((one) => new Map(one)),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        expect(roundTrip(value)).toEqual([value])
      }),
    )
  })

  test('a float is written as a float, and an integer as an integer', () => {
    expect(encodeArguments([float(1)], written)[1]).toBe(0xcb)
    expect(encodeArguments([1], written)[1]).toBe(1)
    expect(encodeArguments([-0], written)[1]).toBe(0xcb)
  })

  test('containers, shapes, data types and devices cross by value', () => {
    expect(roundTrip(getGlobal('ffi.Array')(1, 'a'), getGlobal('ffi.Map')('k', [2]), shape([2, 3]))).toEqual([
      [1, 'a'],
      new Map([['k', [2]]]),
      [2, 3],
    ])
    const [dtype, where] = roundTrip(dataType('float16x2'), device('cuda:1')) as [unknown, unknown]
    expect(dtype).toEqual(dataType('float16x2'))
    expect(where).toEqual(device('cuda:1'))
  })

  test('a tensor is an operand, or is copied', () => {
    const x = tensor([[1, 2]])
    expect((roundTrip(x, x) as unknown[])[1]).toBe(x)
    const [copy] = decodeValue(encodeArguments([x], copied), read) as readonly Tensor[]
    expect(copy).not.toBe(x)
    expect([copy!.shape, copy!.toArray()]).toEqual([
      [1, 2],
      [1, 2],
    ])
    expect(() => encodeArguments([tensor('s4', [3])], written)).toThrow(ValueError)
    expect(() => roundTrip(tensor('s4', [3], undefined, { packing: 'packed' }))).not.toThrow()
  })

  test('values that belong to this process are refused with their place', () => {
    expect(() => roundTrip(1, [Symbol('x')])).toThrow('argument 2[0]: a packed function in another process cannot take')
    expect(() => roundTrip(Object.create(OpaquePointer.prototype))).toThrow(PackedFuncTypeError)
    expect(() => roundTrip(new Error('x'))).toThrow('argument 1')
    expect(() => roundTrip(2n ** 63n)).toThrow('too large to fit in int64_t')
    const ring: unknown[] = []
    ring.push(ring)
    expect(() => roundTrip(ring)).toThrow('nested more than 64 deep')
  })

  test('a call of a function, its result and its error', () => {
    const call = decodeCallback(encodeArguments([3, ['a', 1]], written), read)
    expect(call).toEqual({ id: 3, values: ['a', 1] })
    expect(decodeValue(encodeReturned('yes', written), read)).toEqual([0, 'yes'])
    const thrown = new RangeError('too far')
    expect(decodeValue(encodeThrown(thrown, 5), read)).toEqual([1, 'ValueError', 'too far', '', 5])
    const hostile = {
      get message(): string {
        throw new Error('no')
      },
    }
    Object.setPrototypeOf(hostile, Error.prototype)
    expect(decodeValue(encodeThrown(hostile, 0), read)).toEqual([
      1,
      'RuntimeError',
      'the thrown value cannot be read',
      '',
      0,
    ])
  })

  test('an error has its class, its causes and its frames, or is the value that was thrown here', () => {
    const bytes = encodeArguments(
      ['KeyError', 'no key', 'inner\nouter\n', [['ValueError', 'bad', '', null]], null],
      written,
    )
    const error = decodeError(bytes, new Map()) as PackedFuncError
    expect(error).toMatchObject({ kind: 'KeyError', sentence: 'no key', nativeBacktrace: 'outer\ninner' })
    expect(error.cause).toBeInstanceOf(ValueError)
    const own = new Error('mine')
    expect(decodeError(encodeArguments(['Error', 'mine', '', [], 2], written), new Map([[2, own]]))).toBe(own)
  })

  test('values are nested at most 64 deep, both when they are sent and when they are read', () => {
    const forms: ((inner: unknown) => unknown)[] = [
      (inner) => [inner],
      (inner) => new Map([['key', inner]]),
      (inner) => new Map([[inner, 1]]),
    ]
    for (const form of forms) {
      let value: unknown = 1
      // The list of the arguments or of the result is the first level.
      for (let depth = 1; depth < 64; depth++) value = form(value)
      expect(roundTrip(value)).toEqual([value])
      expect(decodeValue(encodeReturned(value, written), read)).toEqual([0, value])
      expect(() => roundTrip(form(value))).toThrow(/is nested more than 64 deep/)
      expect(() => encodeReturned(form(value), written)).toThrow(/is nested more than 64 deep/)
    }
    for (const level of [[0x91], [0x81, 0xc0]]) {
      const bytes = (depth: number): Uint8Array =>
        Uint8Array.from([...Array.from({ length: depth }, () => level).flat(), 0xc0])
      expect(() => decodeValue(bytes(64), read)).not.toThrow()
      expect(() => decodeValue(bytes(65), read)).toThrow(RuntimeError)
    }
  })

  test('hostile bytes are refused with an error', () => {
    // Bytes without any order, and extensions, which random bytes seldom are.
    const extension = fc
      .tuple(
        fc.constantFrom(1, 2, 4, 8, 16),
        fc.integer({ min: 0, max: 9 }),
        fc.uint8Array({ minLength: 16, maxLength: 16 }),
      )
      .map(([size, type, body]) => Uint8Array.of(0xd4 + Math.log2(size), type, ...body.subarray(0, size)))
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), extension), (bytes) => {
        for (const decode of [
          () => decodeValue(bytes, read),
          () => decodeCallback(bytes, read),
          () => decodeError(bytes, new Map()),
        ]) {
          try {
            decode()
          } catch (error) {
            expect(error).toBeInstanceOf(RuntimeError)
          }
        }
      }),
      { numRuns: 3000 },
    )
    // A data type with a type code that DLPack does not have.
    expect(() => decodeValue(Uint8Array.of(0xd6, 3, 76, 42, 156, 33), read)).toThrow(RuntimeError)
    // A copy of a tensor with a byte more, or less, than its elements have.
    const copy = encodeArguments([tensor([[1, 2]])], copied)
    expect(copy[1]).toBe(0xc7)
    const resized = (by: number): Uint8Array =>
      Uint8Array.from([...copy, 0].slice(0, copy.length + by), (byte, i) => (i === 2 ? byte + by : byte))
    expect(decodeValue(resized(0), read)).toEqual([expect.anything()])
    for (const by of [-1, 1]) expect(() => decodeValue(resized(by), read)).toThrow(RuntimeError)
    // A call with fewer or more parts than a number and arguments.
    for (const parts of [[], [3], [3, ['a'], 5], ['3', ['a']], [3, 'a']])
      expect(() => decodeCallback(encodeArguments(parts, written), read)).toThrow(RuntimeError)
    // An array and a text that claim more than there is.
    expect(() => decodeValue(Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff), read)).toThrow(RuntimeError)
    expect(() => decodeValue(Uint8Array.of(0xdb, 0xff, 0xff, 0xff, 0xff), read)).toThrow(RuntimeError)
    expect(() => decodeValue(new Uint8Array(100).fill(0x91), read)).toThrow(RuntimeError)
    expect(() => decodeValue(Uint8Array.of(1, 1), read)).toThrow(RuntimeError)
  })
})
