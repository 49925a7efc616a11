import { viewFacts, type ViewFacts } from '../types/tensor-arrays.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { describe } from '../errors/describe.ts'

/**
 * The memory of a tensor of another library, as its adapter has found it. Each property of the object was read once, and none was
 * checked.
 */
export interface FoundNumbers {
  /** The name of the structure in messages. */
  readonly kind: string
  /** The name of the element type. Undefined for that of the array. `bits` are booleans of one bit each. */
  readonly dtype: unknown
  /** Undefined for one axis with the length of the array. */
  readonly shape: unknown
  /** In elements. Undefined for row-major. */
  readonly strides: unknown
  /** A TypedArray, a buffer, or an address with a size. Elements must lie inside. */
  readonly memory: unknown
  /** The position of the first element in the memory, in elements of the array or in bits; in bytes for a buffer or an address. */
  readonly offset: unknown
  /** Whether a row-major tensor must have all elements of the array. */
  readonly isWhole: boolean
  /** The members that only few structures have. */
  readonly more: FoundMore | undefined
}

/** The rarer properties of {@link FoundNumbers}. */
export interface FoundMore {
  readonly validity?: unknown
  readonly validityOffset?: unknown
  readonly packing?: unknown
  readonly device?: unknown
  readonly readOnly?: unknown
  readonly owner?: unknown
  readonly hold?: unknown
}

/** The strings of another library: in the form of Arrow, or as texts of JavaScript. */
export interface FoundStrings {
  readonly kind: string
  readonly dtype: 'string'
  readonly shape: unknown
  /** An array of strings, and perhaps nulls. Undefined for the form of Arrow. */
  readonly texts: unknown
  readonly offsets?: unknown
  readonly data?: unknown
  readonly validity?: unknown
  readonly validityOffset?: unknown
  readonly owner?: unknown
}

/** Parts that follow each other along the first axis. Only a copy joins them. */
export interface FoundChunks {
  readonly kind: string
  readonly chunks: readonly (FoundNumbers | FoundStrings)[]
}

export type Found = FoundNumbers | FoundStrings | FoundChunks

/** How the memory of another library becomes a tensor. */
export interface AdoptOptions {
  /** Whether the tensor has a row-major copy of the elements. */
  readonly copy?: boolean | undefined
  /** The element in the place of each null. */
  readonly nulls?: unknown
  /** Whether an address is believed. */
  readonly trustAddress?: boolean | undefined
}

/** Memory that is in no buffer. */
export interface AddressRange {
  readonly address: unknown
  readonly byteSize: unknown
}

/** Returns the numbers of a structure whose memory is a TypedArray. */
export function inArray(
  kind: string,
  dtype: unknown,
  memory: unknown,
  shape: unknown,
  strides?: unknown,
  offset: unknown = 0,
): FoundNumbers {
  return { kind, dtype, shape, strides, memory, offset, isWhole: strides === undefined, more: undefined }
}

/** The most axes and chunks that are read. */
const MOST_PARTS: number = 2 ** 20

/** Reads an array, each element once. @throws {ArgumentError} */
export function readList(value: unknown, name: string, most: number = MOST_PARTS): unknown[] {
  // Typed arrays of sizes are common in other libraries.
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && viewFacts(value).name.endsWith('32Array'))
  if (!isList) throw new ArgumentError(`${name} must be an array, got ${describe(value)}`)
  const list = value as ArrayLike<unknown>
  const { length } = list
  if (length > most) throw new ArgumentError(`${name} must have at most ${most} elements, got ${length}`)
  const items: unknown[] = []
  for (let i = 0; i < length; i++) items.push(list[i])
  return items
}

/** Returns the facts of a TypedArray, or undefined for other values. */
export function arrayFacts(value: unknown): ViewFacts | undefined {
  if (!ArrayBuffer.isView(value)) return undefined
  const facts = viewFacts(value)
  return facts.name === 'DataView' ? undefined : facts
}
