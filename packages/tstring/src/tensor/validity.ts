import { checkSize, countZeros, isSet } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { checkBytes } from '../memory/typed-arrays.ts'

/** The nulls of an Arrow array. */
export interface ArrowNulls {
  /** Arrow's validity bitmap from the first element on, or undefined if no element is null. */
  readonly validity: Uint8Array | undefined
  readonly nullCount: number
}

/** Options for Arrow arrays that have nulls. */
export interface ValidityOptions {
  /**
   * Arrow's validity bitmap: bit `i % 8` of byte `i / 8` is 0 if element `i` is null. String tensors have no nulls, so a null is
   * an empty string there. Keep the bitmap, and pass it again to write the nulls back to Arrow.
   */
  readonly validity?: Uint8Array | undefined
  /** The bit of the first element; by default 0. Slices of Arrow share a bitmap, and their `offset` is this number. */
  readonly validityOffset?: number | undefined
}

export const validityOptions = ['validity', 'validityOffset'] as const

const NONE: ArrowNulls = { validity: undefined, nullCount: 0 }

/** Reads the bitmap of `count` elements once. @throws {ArgumentError} if it has fewer bits */
export function readValidity({ validity, validityOffset = 0 }: ValidityOptions, count: number): ArrowNulls {
  const first = checkSize(validityOffset, 'validityOffset', 'bits')
  if (validity === undefined || validity === null) return NONE
  const { buffer, byteOffset, byteLength } = checkBytes(validity, 'validity', 'a Uint8Array')
  if (first + count > 8 * byteLength) {
    throw argumentError('validity', `a bitmap of at least ${first + count} bits`, validity)
  }
  const byte = Math.floor(first / 8)
  const given = new Uint8Array(buffer, byteOffset + byte, byteLength - byte)
  const bits = shifted(given, first % 8, count)
  const nullCount = countZeros(bits, 0, count)
  return nullCount === 0 ? NONE : { validity: bits, nullCount }
}

export function isNull(validity: Uint8Array | undefined, index: number): boolean {
  return validity !== undefined && !isSet(validity, index)
}

/** Returns a copy of `count` bits from bit `shift` of the first byte on. The bits behind them are 0. */
function shifted(bits: Uint8Array, shift: number, count: number): Uint8Array {
  const copy = new Uint8Array(Math.ceil(count / 8))
  for (let i = 0; i < copy.length; i++) copy[i] = (bits[i]! >>> shift) | ((bits[i + 1] ?? 0) << (8 - shift))
  if (count % 8 !== 0) copy[copy.length - 1]! &= (1 << (count % 8)) - 1
  return copy
}
