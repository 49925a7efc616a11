import type { DTypeName, Segment, Tensor } from '@tenon/core'
import { describe, inspectAsText } from '@tenon/core/internal'
import type { Attribute } from '../attributes/attribute.ts'
import type { AttributeDictionary } from '../attributes/encode-attributes.ts'

/** Attributes as native code passes them, each with its type. */
export interface ReadAttributes {
  readonly [name: string]: Attribute | ReadAttributes
}

/** The values of a type that a function reads, and that a caller may write besides an {@link Attribute}. */
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
  dtype: { read: number; write: DTypeName }
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
 * The name of an attribute type: a scalar (`f32`, `s64`, `pred`, `c64`), an array (`f32[]`), `string` (UTF-8 text), `bytes`
 * (a string of arbitrary bytes), `pointer` (an s64 with an address), `dtype` (an s32 with XLA's number of an element type), or
 * `dictionary` (any attributes with their own types).
 */
export type AttributeTypeName = keyof Kinds

/** An attribute that can be omitted. Created by {@link maybe}. */
export class Maybe<Spec = unknown, Value = unknown> {
  readonly spec: Spec
  /** The default value. If it is undefined, an omitted attribute is not passed. */
  readonly fallback: Value | undefined

  /** @internal */
  constructor(spec: Spec, fallback: Value | undefined) {
    this.spec = spec
    this.fallback = fallback
  }

  toString(): string {
    return `maybe(${describe(this.spec)}${this.fallback === undefined ? '' : `, ${describe(this.fallback)}`})`
  }
}
inspectAsText(Maybe)

/** The type of an attribute: a name, a dictionary of types, or a type that may be omitted. */
export type AttributeSpec = AttributeTypeName | AttributeSchema | Maybe

/** The types of attributes, by name. */
export interface AttributeSchema {
  readonly [name: string]: AttributeSpec
}

/** The value that a caller writes for an attribute. */
export type AttributeInput<Spec> =
  Spec extends Maybe<infer Inner>
    ? AttributeInput<Inner>
    : Spec extends AttributeTypeName
      ? Kinds[Spec]['write'] | Attribute
      : Spec extends AttributeSchema
        ? AttributesInput<Spec>
        : never

type Required<Schema extends AttributeSchema> = {
  [Name in keyof Schema]: Schema[Name] extends Maybe ? never : Name
}[keyof Schema]

/** The attribute values that a caller passes. Plain numbers are allowed, because the types are declared. */
export type AttributesInput<Schema extends AttributeSchema> = string extends keyof Schema
  ? { readonly [name: string]: unknown }
  : { readonly [Name in Required<Schema>]: AttributeInput<Schema[Name]> } & {
      readonly [Name in Exclude<keyof Schema, Required<Schema>>]?: AttributeInput<Schema[Name]>
    }

/** The value that a function reads for an attribute. */
export type AttributeOutput<Spec> =
  Spec extends Maybe<infer Inner, infer Value>
    ? AttributeOutput<Inner> | (undefined extends Value ? undefined : never)
    : Spec extends AttributeTypeName
      ? Kinds[Spec]['read']
      : Spec extends AttributeSchema
        ? AttributesOutput<Spec>
        : never

/** The values that a function reads for attributes. */
export type AttributesOutput<Schema extends AttributeSchema> = string extends keyof Schema
  ? { readonly [name: string]: unknown }
  : { readonly [Name in keyof Schema]: AttributeOutput<Schema[Name]> }

/** Declares an optional attribute without a default, for handlers that read a dictionary of all attributes. */
export function maybe<const Spec extends AttributeTypeName | AttributeSchema>(spec: Spec): Maybe<Spec, undefined>
/**
 * Declares an attribute with a default value.
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
