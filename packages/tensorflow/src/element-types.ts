import type { DType } from '@tenon/core'
import { findDType } from '@tenon/core/internal'

/** An element type of TensorFlow. */
export interface ElementType {
  /** TensorFlow's name, for example `float` or `qint8`. */
  readonly name: string
  /** The number of the type in `TF_DataType`. */
  readonly code: number
  /** The element type of the memory; undefined for strings, and for types whose elements are not memory. */
  readonly dtype: DType | undefined
}

/** The name, the number in `TF_DataType` and the memory of each type. Types of the same memory as one before are quantised. */
const TABLE = `
  float 1 float32, double 2 float64, int32 3 int32, uint8 4 uint8, int16 5 int16, int8 6 int8, string 7,
  complex64 8 complex64, int64 9 int64, bool 10 bool, bfloat16 14 bfloat16, uint16 17 uint16,
  complex128 18 complex128, half 19 float16, resource 20, variant 21, uint32 22 uint32, uint64 23 uint64,
  float8_e5m2 24 float8_e5m2, float8_e4m3fn 25 float8_e4m3fn, float8_e4m3fnuz 26 float8_e4m3fnuz,
  float8_e4m3b11fnuz 27 float8_e4m3b11fnuz, float8_e5m2fnuz 28 float8_e5m2fnuz, int4 29 int4, uint4 30 uint4,
  int2 31 int2, uint2 32 uint2, float4_e2m1fn 33 float4_e2m1fn,
  qint8 11 int8, quint8 12 uint8, qint32 13 int32, qint16 15 int16, quint16 16 uint16`

export const ELEMENT_TYPES: readonly ElementType[] = TABLE.trim()
  .split(/,\s+/)
  .map((row) => {
    const [name, code, dtype] = row.split(' ')
    return Object.freeze({ name: name!, code: Number(code), dtype: dtype as DType | undefined })
  })

const byCode = new Map(ELEMENT_TYPES.map((type) => [type.code, type]))
const byName = new Map(ELEMENT_TYPES.map((type) => [type.name, type]))
const byDType = new Map(ELEMENT_TYPES.toReversed().map((type) => [type.dtype, type]))

/** The element type of strings. */
export const STRING: ElementType = byName.get('string')!

/** Returns the element type with a number of `TF_DataType`, or undefined. */
export const typeOfCode = (code: number): ElementType | undefined => byCode.get(code)

/** Returns the element type with one of TensorFlow's names in definitions, or undefined. */
export const typeInDefinition = (name: string): ElementType | undefined => byName.get(SYNONYMS.get(name) ?? name)

/** Returns the plain element type of a tensor, or undefined if TensorFlow does not have the type. */
export const typeOfElements = (dtype: DType): ElementType | undefined => byDType.get(dtype)

/** Returns the element type with a name in TensorFlow or Tenon, or undefined. */
export function typeNamed(name: string): ElementType | undefined {
  const dtype = findDType(name)?.name
  return typeInDefinition(name) ?? (dtype === undefined ? undefined : typeOfElements(dtype))
}

const SYNONYMS = new Map([
  ['float32', 'float'],
  ['float64', 'double'],
  ['float16', 'half'],
])

const named = (names: string): readonly ElementType[] => names.split(' ').map((name) => byName.get(name)!)

const REAL = 'float double int32 int64 uint8 int16 int8 uint16 half uint32 uint64 bfloat16'
const QUANTIZED = 'qint8 quint8 qint16 quint16 qint32'
const NUMBER = `${REAL} complex64 complex128 ${QUANTIZED}`

/** The names in definitions for groups of element types. */
export const TYPE_GROUPS: ReadonlyMap<string, readonly ElementType[]> = new Map([
  ['numbertype', named(NUMBER)],
  ['numerictype', named(NUMBER)],
  ['realnumbertype', named(REAL)],
  ['realnumerictype', named(REAL)],
  ['quantizedtype', named(QUANTIZED)],
])
