import type { DType, Segment, Tensor } from '@tenon/core'
import type { Attribute } from '../attributes/attribute.ts'
import type { AttributeDictionary } from '../attributes/encode-attributes.ts'

/** Attributes as they came, each with its type. */
export interface ReadAttributes {
  readonly [name: string]: Attribute | ReadAttributes
}

/** The element types of scalar attributes, by their short names. */
export const SCALARS: Readonly<Record<ScalarName, DType>> = {
  pred: 'bool',
  s8: 'int8',
  s16: 'int16',
  s32: 'int32',
  s64: 'int64',
  u8: 'uint8',
  u16: 'uint16',
  u32: 'uint32',
  u64: 'uint64',
  f32: 'float32',
  f64: 'float64',
  c64: 'complex64',
  c128: 'complex128',
}

/** The short name of the type of a scalar attribute. */
export type ScalarName =
  | 'pred'
  | 's8'
  | 's16'
  | 's32'
  | 's64'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'f32'
  | 'f64'
  | 'c64'
  | 'c128'

/** What a function gets for an attribute of a type, and what a caller may write besides an {@link Attribute}. */
interface Kinds {
  pred: { read: boolean; write: boolean }
  s8: { read: number; write: number | bigint }
  s16: { read: number; write: number | bigint }
  s32: { read: number; write: number | bigint }
  s64: { read: bigint; write: number | bigint }
  u8: { read: number; write: number | bigint }
  u16: { read: number; write: number | bigint }
  u32: { read: number; write: number | bigint }
  u64: { read: bigint; write: number | bigint }
  f32: { read: number; write: number }
  f64: { read: number; write: number }
  c64: { read: readonly [number, number]; write: readonly [number, number] }
  c128: { read: readonly [number, number]; write: readonly [number, number] }
  string: { read: string; write: string }
  bytes: { read: Uint8Array; write: string | Uint8Array }
  pointer: { read: bigint; write: Segment | Tensor | bigint }
  dictionary: { read: ReadAttributes; write: AttributeDictionary }
  's8[]': { read: Int8Array; write: readonly number[] | Int8Array }
  's16[]': { read: Int16Array; write: readonly number[] | Int16Array }
  's32[]': { read: Int32Array; write: readonly number[] | Int32Array }
  's64[]': { read: BigInt64Array; write: readonly (number | bigint)[] | BigInt64Array }
  'u8[]': { read: Uint8Array; write: readonly number[] | Uint8Array }
  'u16[]': { read: Uint16Array; write: readonly number[] | Uint16Array }
  'u32[]': { read: Uint32Array; write: readonly number[] | Uint32Array }
  'u64[]': { read: BigUint64Array; write: readonly (number | bigint)[] | BigUint64Array }
  'f32[]': { read: Float32Array; write: readonly number[] | Float32Array }
  'f64[]': { read: Float64Array; write: readonly number[] | Float64Array }
}

/**
 * The name of an attribute's type: a scalar (`f32`, `s64`, `pred`, `c64`), an array (`f32[]`), `string` (UTF-8 text), `bytes`
 * (a string of any bytes), `pointer` (an s64 with an address), or `dictionary` (one of any attributes, each with its type).
 */
export type AttributeTypeName = keyof Kinds

/** An attribute that need not be given. Made by {@link maybe}. */
export class Maybe<Spec = unknown, Value = unknown> {
  readonly spec: Spec
  /** What it is when it is not given; undefined: it is not there at all. */
  readonly fallback: Value | undefined

  /** @internal */
  constructor(spec: Spec, fallback: Value | undefined) {
    this.spec = spec
    this.fallback = fallback
  }
}

/** The type of an attribute: a name; a dictionary of types; or one that need not be given. */
export type AttributeSpec = AttributeTypeName | AttributeSchema | Maybe

/** Types of attributes, by name. */
export interface AttributeSchema {
  readonly [name: string]: AttributeSpec
}

/** What a caller writes for an attribute. */
export type AttributeInput<Spec> =
  Spec extends Maybe<infer Inner>
    ? AttributeInput<Inner>
    : Spec extends AttributeTypeName
      ? Kinds[Spec]['write'] | Attribute
      : Spec extends AttributeSchema
        ? AttributesInput<Spec>
        : never

/** The names that must be given. */
type Required<Schema extends AttributeSchema> = {
  [Name in keyof Schema]: Schema[Name] extends Maybe ? never : Name
}[keyof Schema]

/** What a caller writes for attributes: a bare number is enough, its type is known. */
export type AttributesInput<Schema extends AttributeSchema> = string extends keyof Schema
  ? { readonly [name: string]: unknown }
  : { readonly [Name in Required<Schema>]: AttributeInput<Schema[Name]> } & {
      readonly [Name in Exclude<keyof Schema, Required<Schema>>]?: AttributeInput<Schema[Name]>
    }

/** What a function gets for an attribute. */
export type AttributeOutput<Spec> =
  Spec extends Maybe<infer Inner, infer Value>
    ? AttributeOutput<Inner> | (undefined extends Value ? undefined : never)
    : Spec extends AttributeTypeName
      ? Kinds[Spec]['read']
      : Spec extends AttributeSchema
        ? AttributesOutput<Spec>
        : never

/** What a function gets for attributes. */
export type AttributesOutput<Schema extends AttributeSchema> = string extends keyof Schema
  ? { readonly [name: string]: unknown }
  : { readonly [Name in keyof Schema]: AttributeOutput<Schema[Name]> }

/** An attribute that need not be given, and then is not passed: for handlers that look into a dictionary of all of them. */
export function maybe<const Spec extends AttributeTypeName | AttributeSchema>(spec: Spec): Maybe<Spec, undefined>
/**
 * An attribute that is `fallback` when it is not given.
 *
 * @example
 * defineTarget('rms_norm', { operands: [f32([2, 4])], results: [f32([2, 4])], attrs: { eps: maybe('f32', 1e-5) } })
 */
export function maybe<const Spec extends AttributeTypeName | AttributeSchema>(
  spec: Spec,
  fallback: AttributeInput<Spec>,
): Maybe<Spec, AttributeInput<Spec>>
export function maybe(spec: unknown, fallback?: unknown): Maybe {
  return new Maybe(spec, fallback)
}
