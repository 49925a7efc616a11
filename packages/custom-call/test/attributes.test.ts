import { ArgumentError, ArgumentRangeError, tensorType } from '@tenon/core'
import {
  array,
  f32,
  f64,
  pred,
  s16,
  s32,
  s64,
  s8,
  str,
  u16,
  u32,
  u64,
  u8,
  type Attribute,
  type AttributeDictionary,
  type AttributeValue,
} from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { scalar } from '../src/attributes/attribute.ts'
import { seenAttributes } from './kernels.ts'

test('equal numbers of one type are one attribute, except zeros', () => {
  expect(f32(1e-5)).toBe(f32(1e-5))
  expect(f32(Number.NaN).value).toBeNaN()
  expect(f32(1)).not.toBe(f64(1))
  expect([f32(0), f32(-0), s32(0)].map(({ value }) => value)).toStrictEqual([0, -0, 0])
  const all = Array.from({ length: 1000 }, (_, i) => s32(i))
  expect(all.every(({ value }, i) => value === i)).toBe(true)
})

test('a scalar that a getter makes leaves the other one as it is', () => {
  const parts = Object.defineProperty([1.5, 0], 1, { get: () => (f64(99), -2), enumerable: true })
  expect(scalar('complex128', parts as [number, number]).value).toStrictEqual([1.5, -2])
})

/** Returns the sentence of the error that refuses attributes. */
function refusal(attrs: unknown): string {
  try {
    seenAttributes(attrs as AttributeDictionary)
  } catch (error) {
    expect(error).toBeInstanceOf(ArgumentError)
    return (error as ArgumentError).message
  }
  throw new Error('it was accepted')
}

describe('a handler sees', () => {
  test('scalars of every type', () => {
    const attrs = {
      a: pred(true),
      b: s8(-128),
      c: s16(-32_768),
      d: s32(-2_147_483_648),
      e: s64(-(2n ** 63n)),
      f: u8(255),
      g: u16(65_535),
      h: u32(4_294_967_295),
      i: u64(2n ** 64n - 1n),
      j: f32(1e-5),
      k: f64(0.1),
    }
    expect(seenAttributes(attrs)).toBe(
      'a=PRED:true b=S8:-128 c=S16:-32768 d=S32:-2147483648 e=S64:-9223372036854775808 f=U8:255 g=U16:65535 ' +
        'h=U32:4294967295 i=U64:18446744073709551615 j=F32:9.99999975e-06 k=F64:0.10000000000000001',
    )
  })

  test('text, booleans and bigints with their natural types', () => {
    expect(seenAttributes({ big: 5n, flag: false, text: 'é' })).toBe('big=S64:5 flag=PRED:false text=STRING:"é"')
  })

  test('strings of any bytes', () => {
    expect(seenAttributes({ bytes: str(Uint8Array.of(0x41, 0x42)), empty: '' })).toBe(
      'bytes=STRING:"AB" empty=STRING:""',
    )
  })

  test('arrays from TypedArrays, and from lists with a type', () => {
    const attrs = {
      a: new Float32Array([1, 2.5]),
      b: new BigInt64Array([-1n]),
      c: array('s8', [1, -2]),
      d: array('f64', []),
      e: array('u32', new Uint32Array([7])),
      f: new Uint16Array([9, 10]).subarray(1),
    }
    expect(seenAttributes(attrs)).toBe('a=F32[1,2.5] b=S64[-1] c=S8[1,-2] d=F64[] e=U32[7] f=U16[10]')
  })

  test('nested dictionaries', () => {
    const attrs = { outer: { z: f32(1), inner: { deep: 'x' }, none: {} }, a: s32(1) }
    expect(seenAttributes(attrs)).toBe('a=S32:1 outer={inner={deep=STRING:"x"} none={} z=F32:1}')
  })

  test('names sorted by their bytes, not by UTF-16 units', () => {
    // U+10000 is 0xf0... in UTF-8 and 0xd800... in UTF-16; U+FF61 is 0xef... and 0xff61.
    expect(seenAttributes({ '\u{10000}': pred(true), '\uff61': pred(true), ab: pred(true), a: pred(true) })).toBe(
      'a=PRED:true ab=PRED:true \uff61=PRED:true \u{10000}=PRED:true',
    )
  })

  test('the values at the time when an attribute was made', () => {
    const values = new Float32Array([1])
    const attribute = array('f32', values)
    values[0] = 2
    expect(seenAttributes({ a: attribute })).toBe('a=F32[1]')
  })

  test('the bytes at the time when a string attribute was made, also those of a Buffer', () => {
    const bytes = Buffer.from('relu')
    const attributes = [str(bytes), str(new Uint8Array(bytes)), str('relu')]
    bytes[0] = 65
    for (const attribute of attributes) {
      ;(attribute.value as Uint8Array)[0] = 66
      expect(seenAttributes({ a: attribute })).toBe('a=STRING:"relu"')
    }
  })
})

function transferredAway(): Float32Array {
  const elements = new Float32Array(2)
  elements.buffer.transfer()
  return elements
}

describe('an invalid attribute is refused with its path', () => {
  test('a bare number, with an instruction', () => {
    const message = refusal({ outer: { eps: 1e-5 } })
    expect(message).toMatch(/^attribute outer\.eps must have a type, got the bare number 0\.00001/)
    expect(message).toContain('eps: f32(0.00001), f64(0.00001)')
  })

  test.each<[string, unknown, RegExp]>([
    ['a list of numbers', [1, 2], /attribute v must be .*array of length 2[\s\S]*array\('f32'/],
    ['null', null, /attribute v must be .*null/],
    ['undefined', undefined, /attribute v must be .*undefined/],
    ['a function', () => 1, /attribute v must be .*function/],
    ['a Map', new Map(), /attribute v must be .*Map/],
    ['a DataView', new DataView(new ArrayBuffer(1)), /attribute v must be an array of integers/],
    ['a clamped array', new Uint8ClampedArray(1), /attribute v must be an array of integers/],
    [
      'an array whose buffer was transferred',
      transferredAway(),
      /must have its elements, got an array whose buffer was transferred/,
    ],
  ])('%s', (_, value, message) => expect(refusal({ v: value })).toMatch(message))

  test('attributes that are not an object', () => {
    expect(refusal(null)).toMatch(/attrs must be an object of attributes, got null/)
    expect(refusal([])).toMatch(/attrs must be an object of attributes/)
  })

  test('names that UTF-8 cannot encode, and empty names', () => {
    expect(refusal({ '': pred(true) })).toMatch(/name of an attribute must be well-formed/)
    expect(refusal({ 'a\ud800': pred(true) })).toMatch(/name of an attribute must be well-formed/)
  })

  test('dictionaries that contain themselves', () => {
    let value: AttributeValue = { end: pred(true) }
    for (let i = 0; i < 20; i++) value = { deeper: value }
    expect(refusal({ value })).toMatch(/can be nested 16 deep/)
    const inItself: Record<string, AttributeValue> = {}
    for (const name of ['again', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) inItself[name] = inItself
    expect(refusal({ inItself })).toMatch(/can be nested 16 deep, got more at inItself\.again\.again/)
  })
})

describe('values are checked against their type', () => {
  test.each<[string, () => Attribute]>([
    ['s8 of 128', (): Attribute => s8(128)],
    ['u8 of -1', (): Attribute => u8(-1)],
    ['s32 of 0.5', (): Attribute => s32(0.5)],
    ['s32 of NaN', (): Attribute => s32(Number.NaN)],
    ['u32 of 2^32', (): Attribute => u32(2 ** 32)],
    ['s64 of 2^53', (): Attribute => s64(2 ** 53)],
    ['u64 of -1n', (): Attribute => u64(-1n)],
    ['f32 of 1e300', (): Attribute => f32(1e300)],
    ['an array of s16 with 40000', (): Attribute => array('s16', [40_000])],
  ])('%s', (_, make) => expect(make).toThrow(ArgumentRangeError))

  test.each<[string, () => Attribute]>([
    ['f32 of a string', (): Attribute => f32('1' as never)],
    ['f32 of null', (): Attribute => f32(null as never)],
    ['pred of 2', (): Attribute => pred(2 as never)],
    ['pred of 1', (): Attribute => pred(1 as never)],
    ['pred of 0', (): Attribute => pred(0 as never)],
    ['str of a number', (): Attribute => str(1 as never)],
    ['str with half a surrogate pair', (): Attribute => str('\udc00')],
    ['an array of float16', (): Attribute => array('f16', [1])],
    ['an array of bool', (): Attribute => array('pred', [1])],
    ['an array of the wrong kind', (): Attribute => array('f32', new Float64Array(1))],
    ['an array of no list', (): Attribute => array('f32', 1 as never)],
    ['an array of an unknown type', (): Attribute => array('f33', [1])],
  ])('%s', (_, make) => expect(make).toThrow(ArgumentError))

  test('f32 accepts infinities and NaN', () => {
    expect(seenAttributes({ a: f32(Infinity), b: f32(-Infinity), c: f32(Number.NaN) })).toMatch(
      /a=F32:inf b=F32:-inf c=F32:-?nan/,
    )
  })
})

test('a helper makes the type of a tensor from a shape', () => {
  expect(f32([2, 4])).toBe(tensorType('float32', [2, 4]))
  expect(pred([])).toBe(tensorType('bool', []))
  expect(() => f32([-1])).toThrow(ArgumentRangeError)
})
