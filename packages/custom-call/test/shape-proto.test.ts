import { ArgumentError, dtypes, tensor, tensorType, TenonError, type TensorType } from '@tenon/core'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import { describe, expect, test } from 'vitest'
import { f32, f64, type OperandShape, readShapeProto, s32, shapeProto, token } from '../src/index.ts'

/** The messages of OpenXLA's xla_data.proto, with the fields that describe dense arrays, tuples and tokens, and some others. */
const { root } = protobuf.parse(
  `syntax = "proto3"; package xla;
   message TileProto { repeated int64 dimensions = 1; }
   message LayoutProto {
     repeated int64 minor_to_major = 1; repeated TileProto tiles = 6; int64 element_size_in_bits = 7; int64 memory_space = 8;
     repeated int32 dim_level_types = 9; int64 tail_padding_alignment_in_elements = 16;
   }
   message ShapeProto {
     int32 element_type = 2; repeated int64 dimensions = 3; repeated ShapeProto tuple_shapes = 4; LayoutProto layout = 5;
     repeated bool is_dynamic_dimension = 6;
   }`,
  { keepCase: true },
)
const ShapeProto = root.lookupType('xla.ShapeProto')
const decode = (bytes: Uint8Array): object => ShapeProto.toObject(ShapeProto.decode(bytes), { longs: Number })
const encode = (shape: object): Uint8Array => ShapeProto.encode(ShapeProto.fromObject(shape)).finish()

/** The types of XLA that are written in bits of their own numbers, such as F32 = 11. */
const order = fc.array(fc.nat({ max: 6 }), { maxLength: 5 })
const anyType: fc.Arbitrary<TensorType> = fc
  .tuple(fc.constantFrom(...dtypes.map(({ name }) => name)), order)
  .map(([dtype, shape]) => tensorType(dtype, shape))
const anyShape = fc.letrec<{ shape: OperandShape }>((tie) => ({
  shape: fc.oneof(anyType, fc.constant(token), fc.array(tie('shape'), { maxLength: 3 })),
})).shape

describe('shapeProto()', () => {
  test('has the bytes of xla.ShapeProto', () => {
    // element_type: 11 (F32); dimensions: [2, 300]; layout: { minor_to_major: [1, 0] }
    expect([...shapeProto(f32([2, 300]))]).toEqual([0x10, 11, 0x1a, 3, 2, 0xac, 2, 0x2a, 4, 0x0a, 2, 1, 0])
    expect([...shapeProto(token)]).toEqual([0x10, 17])
    expect([...shapeProto([])]).toEqual([0x10, 13])
    expect([...shapeProto(f64([]))]).toEqual([0x10, 12, 0x2a, 0])
  })

  test('is read by another implementation of Protocol Buffers', () => {
    expect(decode(shapeProto([f32([2, 3]), [s32([2 ** 40]), token]]))).toEqual({
      element_type: 13,
      tuple_shapes: [
        { element_type: 11, dimensions: [2, 3], layout: { minor_to_major: [1, 0] } },
        {
          element_type: 13,
          tuple_shapes: [
            { element_type: 4, dimensions: [2 ** 40], layout: { minor_to_major: [0] } },
            { element_type: 17 },
          ],
        },
      ],
    })
  })

  test('describes a tensor, and the layout of its type', () => {
    const x = tensor('f32', [2, 3, 4])
    expect(shapeProto(x)).toEqual(shapeProto(f32([2, 3, 4])))
    const columns = x.toLayout('cm')
    expect(decode(shapeProto(columns))).toMatchObject({ layout: { minor_to_major: [1, 2, 0] } })
    expect(readShapeProto(shapeProto(columns))).toBe(columns.type)
  })

  test('refuses what XLA has no layout for, and what is not a type', () => {
    expect(() =>
      shapeProto(
        tensor('f32', [4, 4])
          .slice([0, 2])
          .slice([null, [0, 2]] as never).type,
      ),
    ).toThrow(TenonError)
    expect(() => shapeProto(tensorType('int4', [4], { packing: 'packed' } as never))).toThrow(TenonError)
    for (const value of [null, 'f32', {}, undefined, 5]) expect(() => shapeProto(value as never)).toThrow(ArgumentError)
    const endless: unknown[] = []
    endless.push(endless)
    expect(() => shapeProto(endless as never)).toThrow(/nested at most 64/)
    expect(() => shapeProto(new Array(3) as never)).toThrow(/shape\[0\] must be the type of a tensor/)
  })
})

describe('readShapeProto()', () => {
  test('reads what shapeProto() wrote', () => {
    fc.assert(
      fc.property(anyShape, (shape) => {
        expect(readShapeProto(shapeProto(shape))).toEqual(shape)
        expect([...encode(decode(shapeProto(shape)))]).toEqual([...shapeProto(shape)])
      }),
    )
  })

  test('reads the message of another implementation, with fields that do not change the memory', () => {
    const layout = { minor_to_major: [0, 1], memory_space: 5, tail_padding_alignment_in_elements: 1 }
    const shape = { element_type: 11, dimensions: [2, 3], is_dynamic_dimension: [false, false], layout }
    expect(readShapeProto(encode(shape))).toBe(tensor('f32', [2, 3]).toLayout('cm').type)
    expect(readShapeProto(encode({ element_type: 1, dimensions: [2] }))).toBe(tensorType('bool', [2]))
    // Fields that are not packed, unknown ones, and a later value of the element type.
    expect(readShapeProto(Uint8Array.of(0x10, 4, 0x18, 7, 0x7d, 1, 2, 3, 4, 0x10, 11))).toBe(f32([7]))
  })

  test.each([
    ['a dynamic dimension', { element_type: 11, dimensions: [2, 3], is_dynamic_dimension: [false, true] }],
    ['tiles', { element_type: 11, dimensions: [2], layout: { minor_to_major: [0], tiles: [{ dimensions: [8] }] } }],
    [
      'packed elements',
      { element_type: 21, dimensions: [2], layout: { minor_to_major: [0], element_size_in_bits: 4 } },
    ],
    ['a sparse layout', { element_type: 11, dimensions: [2], layout: { minor_to_major: [0], dim_level_types: [1] } }],
    ['padding', { element_type: 11, dimensions: [2], layout: { tail_padding_alignment_in_elements: 8 } }],
    ['an opaque value', { element_type: 14 }],
    ['no element type', { dimensions: [2] }],
    ['an unknown element type', { element_type: 99 }],
    ['a negative dimension', { element_type: 11, dimensions: [-1] }],
    ['a huge dimension', { element_type: 11, dimensions: ['9007199254740993'] }],
    ['a layout of other axes', { element_type: 11, dimensions: [2, 3], layout: { minor_to_major: [0, 2] } }],
    ['a layout of too few axes', { element_type: 11, dimensions: [2, 3], layout: { minor_to_major: [0] } }],
  ])('refuses %s', (_, shape) => {
    expect(() => readShapeProto(encode(shape))).toThrow(ArgumentError)
  })

  test('any bytes give a shape or an ArgumentError', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.tuple(anyShape, fc.nat(), fc.nat({ max: 255 })).map(([shape, at, byte]) => {
        const changed = shapeProto(shape)
        if (changed.length > 0) changed[at % changed.length] = byte
        return changed
      }),
    )
    fc.assert(
      fc.property(bytes, (one) => {
        try {
          readShapeProto(one)
        } catch (error) {
          expect(error).toBeInstanceOf(TenonError)
        }
      }),
    )
    let nested = new Uint8Array()
    for (let i = 0; i < 100; i++) nested = Uint8Array.of(0x10, 13, 0x22, nested.length, ...nested).slice(0, 120)
    expect(() => readShapeProto(nested)).toThrow(ArgumentError)
    for (const value of [null, 'x', [16, 17], new ArrayBuffer(2)])
      expect(() => readShapeProto(value as never)).toThrow(ArgumentError)
  })
})
