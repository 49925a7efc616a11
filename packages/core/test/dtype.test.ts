import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ArgumentError, ArgumentRangeError, dtypeInfo, dtypes, type Element } from '@tenon/core'
import { findDType } from '../src/types/dtype.ts'
import { decodeMiniFloat, elementCodec, encodeMiniFloat, isMiniFloat, type MiniFloatName } from '@tenon/core/internal'

describe('the table of element types', () => {
  test('has no name, alias or code twice', () => {
    const names = dtypes.flatMap((row) => [row.name, ...row.aliases])
    expect(new Set(names).size).toBe(names.length)
    for (const code of ['xla', 'numpy', 'nnapi', 'openInference'] as const) {
      const codes = dtypes.map((row) => row[code]).filter((value) => value !== undefined)
      expect(new Set(codes).size).toBe(codes.length)
    }
    const dlpack = dtypes.map((row) => `${row.dlpack}/${row.bits}`)
    expect(new Set(dlpack).size).toBe(dlpack.length)
  })

  // XLA's PrimitiveType, the type codes of DLPack, and NumPy's names, each from its own header or document.
  test.each([
    ['bool', 1, 6, '|b1'],
    ['int8', 2, 0, '|i1'],
    ['int16', 3, 0, '<i2'],
    ['int32', 4, 0, '<i4'],
    ['int64', 5, 0, '<i8'],
    ['uint8', 6, 1, '|u1'],
    ['uint16', 7, 1, '<u2'],
    ['uint32', 8, 1, '<u4'],
    ['uint64', 9, 1, '<u8'],
    ['float16', 10, 2, '<f2'],
    ['float32', 11, 2, '<f4'],
    ['float64', 12, 2, '<f8'],
    ['complex64', 15, 5, '<c8'],
    ['bfloat16', 16, 4, undefined],
    ['complex128', 18, 5, '<c16'],
    ['float8_e5m2', 19, 12, undefined],
    ['float8_e4m3fn', 20, 10, undefined],
    ['int4', 21, 0, undefined],
    ['uint4', 22, 1, undefined],
    ['float8_e4m3b11fnuz', 23, 9, undefined],
    ['float8_e5m2fnuz', 24, 13, undefined],
    ['float8_e4m3fnuz', 25, 11, undefined],
    ['int2', 26, 0, undefined],
    ['uint2', 27, 1, undefined],
    ['float8_e4m3', 28, 8, undefined],
    ['float8_e3m4', 29, 7, undefined],
    ['int1', 30, 0, undefined],
    ['uint1', 31, 1, undefined],
    ['float4_e2m1fn', 32, 17, undefined],
    ['float8_e8m0fnu', 33, 14, undefined],
  ])('%s has its codes', (name, xla, dlpack, numpy) => {
    expect(dtypeInfo(name)).toMatchObject({ name, xla, dlpack })
    expect(dtypeInfo(name).numpy).toBe(numpy)
  })

  test('covers every type', () => expect(dtypes).toHaveLength(30))

  test('aliases are found, strangers are refused', () => {
    expect(dtypeInfo('f32').name).toBe('float32')
    expect(dtypeInfo('s32').name).toBe('int32')
    expect(dtypeInfo('i32').name).toBe('int32')
    expect(dtypeInfo('pred').name).toBe('bool')
    expect(findDType('float')).toBeUndefined()
    for (const name of ['float', '', 'F32', 'toString', null, 3]) {
      expect(() => dtypeInfo(name as never)).toThrow(ArgumentError)
    }
  })
})

const miniFloats = dtypes.map((row) => row.name).filter(isMiniFloat)

describe.each(miniFloats)('%s', (name) => {
  const { bits } = dtypeInfo(name)
  const codes = Array.from({ length: 2 ** bits }, (_, code) => code)

  test('every code comes back from its value', () => {
    for (const code of codes) {
      const value = decodeMiniFloat(name, code)
      if (Number.isNaN(value)) expect(decodeMiniFloat(name, encodeMiniFloat(name, value))).toBeNaN()
      else expect(encodeMiniFloat(name, value)).toBe(code)
    }
  })

  test('a number becomes the nearest one', () => {
    const values = codes.map((code) => decodeMiniFloat(name, code)).filter(Number.isFinite)
    const largest = Math.max(...values)
    const numbers = fc.double({ min: name === 'float8_e8m0fnu' ? 2 ** -120 : -largest, max: largest, noNaN: true })
    fc.assert(
      fc.property(numbers, (number) => {
        const error = Math.abs(decodeMiniFloat(name, encodeMiniFloat(name, number)) - number)
        return values.every((value) => Math.abs(value - number) >= error)
      }),
      { numRuns: bits === 16 ? 20 : 500 },
    )
  })
})

describe('small floats against known values', () => {
  test.each<[MiniFloatName, number, number]>([
    ['float16', 0x3c00, 1],
    ['float16', 0x7bff, 65504],
    ['float16', 0x0001, 2 ** -24],
    ['float16', 0xfc00, -Infinity],
    ['bfloat16', 0x3f80, 1],
    ['bfloat16', 0x4049, 3.140625],
    ['float8_e5m2', 0x7b, 57344],
    ['float8_e4m3fn', 0x7e, 448],
    ['float8_e4m3', 0x77, 240],
    ['float8_e3m4', 0x6f, 15.5],
    ['float8_e4m3b11fnuz', 0x7f, 30],
    ['float8_e4m3fnuz', 0x7f, 240],
    ['float8_e5m2fnuz', 0x7f, 57344],
    ['float4_e2m1fn', 0x7, 6],
    ['float8_e8m0fnu', 127, 1],
  ])('%s 0x%s is %s', (name, code, value) => expect(decodeMiniFloat(name, code)).toBe(value))

  test('bfloat16 is the upper half of float32', () => {
    const view = new DataView(new ArrayBuffer(4))
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), (code) => {
        view.setUint32(0, code * 0x10000)
        return Object.is(decodeMiniFloat('bfloat16', code), view.getFloat32(0))
      }),
    )
  })

  test.each<[MiniFloatName, number, number]>([
    ['float16', 65520, Infinity],
    ['float16', 65519, 65504],
    ['float8_e4m3fn', 1e9, 448],
    ['float8_e4m3fn', -Infinity, -448],
    ['float8_e5m2', 1e9, Infinity],
    ['float8_e4m3fnuz', -0, 0],
    ['float4_e2m1fn', 100, 6],
    ['float4_e2m1fn', NaN, 0],
    ['float8_e8m0fnu', -1, NaN],
    ['float8_e8m0fnu', 1.5, 2], // ties to the even code, 128
    ['float8_e8m0fnu', 3, 2],
    ['float8_e8m0fnu', 1.49, 1],
    ['float8_e8m0fnu', 3.01, 4],
    ['float8_e8m0fnu', 1e300, 2 ** 127],
  ])('%s of %s is %s', (name, number, value) =>
    expect(decodeMiniFloat(name, encodeMiniFloat(name, number))).toBe(value),
  )
})

describe('elements', () => {
  const view = new DataView(new ArrayBuffer(32))

  test.each(dtypes.map((row) => row.name))('%s comes back as written, and nothing beside it changes', (name) => {
    const codec = elementCodec(name)
    for (let at = 0; at < 32; at++) view.setUint8(at, 0xa5)
    const value: Element =
      name === 'bool'
        ? true
        : name.startsWith('complex')
          ? [1, -2]
          : name.includes('64') && !name.startsWith('float')
            ? 1n
            : 1
    const written = name === 'int1' ? -1 : value
    codec.write(view, 3, written)
    expect(codec.read(view, 3)).toEqual(written)
    expect(view.getUint8(2)).toBe(0xa5)
    expect(view.getUint8(3 + codec.byteSize)).toBe(0xa5)
  })

  test.each([
    ['int1', -1, 0],
    ['int2', -2, 1],
    ['int4', -8, 7],
    ['int8', -128, 127],
    ['int16', -32768, 32767],
    ['int32', -(2 ** 31), 2 ** 31 - 1],
    ['uint1', 0, 1],
    ['uint2', 0, 3],
    ['uint4', 0, 15],
    ['uint8', 0, 255],
    ['uint16', 0, 65535],
    ['uint32', 0, 2 ** 32 - 1],
  ] as const)('%s goes from %i to %i', (name, low, high) => {
    const codec = elementCodec(name)
    for (const value of [low, high]) {
      codec.write(view, 0, value)
      expect(codec.read(view, 0)).toBe(value)
    }
    for (const value of [low - 1, high + 1, 0.5, NaN, Infinity]) {
      expect(() => codec.write(view, 0, value)).toThrow(ArgumentRangeError)
    }
  })

  test('64-bit integers are exact', () => {
    for (const [name, low, high] of [
      ['int64', -(2n ** 63n), 2n ** 63n - 1n],
      ['uint64', 0n, 2n ** 64n - 1n],
    ] as const) {
      const codec = elementCodec(name)
      for (const value of [low, high, 2n ** 53n + 1n]) {
        codec.write(view, 0, value)
        expect(codec.read(view, 0)).toBe(value)
      }
      for (const value of [low - 1n, high + 1n, 2 ** 53, 0.5, NaN]) {
        expect(() => codec.write(view, 0, value)).toThrow(ArgumentRangeError)
      }
    }
  })

  test.each([
    ['bool', 2],
    ['bool', 'true'],
    ['float32', '1'],
    ['float32', 1n],
    ['float16', null],
    ['complex64', [1]],
    ['complex64', [1, 2, 3]],
    ['complex64', 'i'],
    ['int8', '1'],
  ] as const)('%s refuses %s', (name, value) => {
    expect(() => elementCodec(name).write(view, 0, value)).toThrow(ArgumentError)
  })
})
