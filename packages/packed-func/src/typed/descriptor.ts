import { Tensor, type Device } from '@tenon/core'
import { PackedFunc } from '../functions/packed-func.ts'
import { NativeArray } from '../objects/native-array.ts'
import { NativeMap } from '../objects/native-map.ts'
import { NativeObject } from '../objects/native-object.ts'
import { Module } from '../functions/module.ts'
import type { Argument, PackedCallback, Value } from '../values/argument.ts'
import { DataType, FloatValue, IntValue, isInt64, OpaquePointer } from '../values/scalars.ts'
import { TensorView } from '../values/wrappers.ts'

/** Marks a value that has not the type. */
export const MISMATCH: unique symbol = Symbol('mismatch')

/**
 * The type of a parameter or result: what TypeScript sees, and what is checked and converted when the function is called.
 * `In` is what the caller passes, `Out` what a result of this type is.
 */
export interface TypeDescriptor<In, Out> {
  /** The name in messages, as tvm-ffi writes it. */
  readonly name: string
  /** What is passed to native code for a value, or {@link MISMATCH}. */
  readonly toNative: (value: unknown) => Argument | typeof MISMATCH
  /** What is returned for a native result, or {@link MISMATCH}. */
  readonly fromNative: (value: Value) => Out | typeof MISMATCH
  /** Whether the parameter may be left out at the end. */
  readonly isOptional: boolean
  /** @internal what is checked in line */
  readonly form: number
  /** @internal the range of `Form.Int` */
  readonly low: number
  /** @internal */
  readonly high: number
  /** For TypeScript alone. */
  readonly in?: In
}

/** Types that are checked and written in line, without their functions. */
export const Form = { Other: 0, Int: 1, Float: 2, Tensor: 3, None: 4, Any: 5 } as const

/** Any descriptor. */
export type AnyDescriptor = TypeDescriptor<unknown, unknown>

/** A descriptor: all have one shape, so that calls read them fast. */
function describeType<In, Out>(
  name: string,
  toNative: TypeDescriptor<In, Out>['toNative'],
  fromNative: TypeDescriptor<In, Out>['fromNative'],
  form: number = Form.Other,
  [low, high]: readonly [number, number] = [0, 0],
  isOptional = false,
): TypeDescriptor<In, Out> {
  return { name, toNative, fromNative, isOptional, form, low, high }
}

/** What the caller passes for a descriptor. */
export type InputOf<T> =
  T extends TypeDescriptor<infer In, never> ? In : T extends TypeDescriptor<infer In, unknown> ? In : never

/** What a result of a descriptor is. */
export type OutputOf<T> = T extends { readonly fromNative: (value: Value) => (infer Out) | typeof MISMATCH }
  ? Exclude<Out, typeof MISMATCH>
  : never

const isInteger = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' ? isInt64(value) : Number.isSafeInteger(value)

function integer(name: string, low: number, high: number): TypeDescriptor<number, number> {
  return describeType<number, number>(
    name,
    (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high && !Object.is(value, -0)
        ? value
        : MISMATCH,
    (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high ? value : MISMATCH,
    Form.Int,
    [low, high],
  )
}

function instance<In extends Argument, Out extends Value>(
  name: string,
  isInput: (value: unknown) => value is In,
  isOutput: (value: Value) => value is Out,
  form: number = Form.Other,
): TypeDescriptor<In, Out> {
  return describeType<In, Out>(
    name,
    (value) => (isInput(value) ? value : MISMATCH),
    (value) => (isOutput(value) ? value : MISMATCH),
    form,
  )
}

const boolean = describeType<boolean, boolean>(
  'bool',
  (value) => (typeof value === 'boolean' ? value : MISMATCH),
  // Functions that give 0 and 1 for a bool are common.
  (value) => (typeof value === 'boolean' ? value : value === 0 || value === 1 ? value === 1 : MISMATCH),
)

const floating = describeType<number, number>(
  'float',
  (value) => (typeof value === 'number' ? new FloatValue(value) : MISMATCH),
  (value) => (typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : MISMATCH),
  Form.Float,
)

const nothing = describeType<null | undefined, null>(
  'None',
  (value) => (value === null || value === undefined ? null : MISMATCH),
  // What a function returns that is said to return nothing is dropped.
  () => null,
  Form.None,
)

const int32Range = [-(2 ** 31), 2 ** 31 - 1] as const

const isObject = (value: unknown): value is NativeObject => value instanceof NativeObject

/** The type of {@link t}. */
export interface Types {
  readonly int: TypeDescriptor<number | bigint, number | bigint>
  readonly bigint: TypeDescriptor<number | bigint, bigint>
  readonly int8: TypeDescriptor<number, number>
  readonly uint8: TypeDescriptor<number, number>
  readonly int16: TypeDescriptor<number, number>
  readonly uint16: TypeDescriptor<number, number>
  readonly int32: TypeDescriptor<number, number>
  readonly uint32: TypeDescriptor<number, number>
  readonly float: TypeDescriptor<number, number>
  readonly bool: TypeDescriptor<boolean, boolean>
  readonly none: TypeDescriptor<null | undefined, null>
  readonly str: TypeDescriptor<string, string>
  readonly bytes: TypeDescriptor<Uint8Array, Uint8Array>
  readonly dtype: TypeDescriptor<DataType | string, DataType>
  readonly device: TypeDescriptor<Device, Device>
  readonly tensor: TypeDescriptor<Tensor | TensorView, Tensor>
  readonly func: TypeDescriptor<PackedFunc | PackedCallback, PackedFunc>
  readonly module: TypeDescriptor<Module, Module>
  readonly object: TypeDescriptor<NativeObject, NativeObject>
  readonly pointer: TypeDescriptor<OpaquePointer | null, OpaquePointer | null>
  readonly any: TypeDescriptor<Argument, Value>
  /** The type, or null; a parameter at the end may be left out. */
  optional<In, Out>(type: TypeDescriptor<In, Out>): TypeDescriptor<In | null | undefined, Out | null>
  /** An array whose elements have the type: arrays of JavaScript, both ways. */
  array<In, Out>(type: TypeDescriptor<In, Out>): TypeDescriptor<readonly In[], Out[]>
  /** A map whose keys and values have the types: Maps of JavaScript, both ways. */
  map<KeyIn, KeyOut, In, Out>(
    key: TypeDescriptor<KeyIn, KeyOut>,
    type: TypeDescriptor<In, Out>,
  ): TypeDescriptor<ReadonlyMap<KeyIn, In>, Map<KeyOut, Out>>
}

/**
 * The types of parameters and results: see `PackedFunc.typed`.
 *
 * | type | passes | returns |
 * | --- | --- | --- |
 * | `int` | whole numbers and bigints of int64 | a number if it is safe, else a bigint |
 * | `bigint` | the same | always a bigint |
 * | `int32`, `uint32`, `int8` ... | whole numbers in range | the same, checked |
 * | `float` | any number, as a float | a number |
 * | `bool`, `str`, `bytes`, `dtype`, `device`, `tensor`, `func`, `module`, `object`, `array`, `map` | themselves | themselves |
 * | `none` | null | null, whatever came |
 * | `any` | anything | anything |
 */
export const t: Types = {
  int: describeType<number | bigint, number | bigint>(
    'int',
    (value) => (isInteger(value) ? new IntValue(value) : MISMATCH),
    (value) => (isInteger(value) ? value : MISMATCH),
    Form.Int,
    int32Range,
  ),
  bigint: describeType<number | bigint, bigint>(
    'int',
    (value) => (isInteger(value) ? new IntValue(value) : MISMATCH),
    (value) => (isInteger(value) ? BigInt(value) : MISMATCH),
  ),
  int8: integer('int8', -128, 127),
  uint8: integer('uint8', 0, 255),
  int16: integer('int16', -32_768, 32_767),
  uint16: integer('uint16', 0, 65_535),
  int32: integer('int32', -(2 ** 31), 2 ** 31 - 1),
  uint32: integer('uint32', 0, 2 ** 32 - 1),
  float: floating,
  bool: boolean,
  none: nothing,
  str: instance(
    'str',
    (value): value is string => typeof value === 'string',
    (value): value is string => typeof value === 'string',
  ),
  bytes: instance(
    'bytes',
    (value): value is Uint8Array => value instanceof Uint8Array,
    (value): value is Uint8Array => value instanceof Uint8Array,
  ),
  dtype: instance(
    'DataType',
    (value): value is DataType | string => value instanceof DataType || typeof value === 'string',
    (value): value is DataType => value instanceof DataType,
  ),
  device: instance(
    'Device',
    (value): value is Device => typeof value === 'object' && value !== null && 'type' in value && 'id' in value,
    (value): value is Device & Value => typeof value === 'object' && value !== null && 'type' in value && 'id' in value,
  ),
  tensor: instance(
    'Tensor',
    (value): value is Tensor | TensorView => value instanceof Tensor || value instanceof TensorView,
    (value): value is Tensor => value instanceof Tensor,
    Form.Tensor,
  ),
  func: instance(
    'Function',
    (value): value is PackedFunc | PackedCallback => value instanceof PackedFunc || typeof value === 'function',
    (value): value is PackedFunc => value instanceof PackedFunc,
  ),
  module: instance(
    'Module',
    (value): value is Module => value instanceof Module,
    (value): value is Module => value instanceof Module,
  ),
  object: instance('Object', isObject, isObject),
  pointer: instance(
    'void*',
    (value): value is OpaquePointer | null => value === null || value instanceof OpaquePointer,
    (value): value is OpaquePointer | null => value === null || value instanceof OpaquePointer,
  ),
  any: describeType<Argument, Value>(
    'Any',
    (value) => value as Argument,
    (value) => value,
    Form.Any,
  ),
  optional: (type) =>
    describeType(
      `Optional<${type.name}>`,
      (value) => (value === null || value === undefined ? null : type.toNative(value)),
      (value) => (value === null ? null : type.fromNative(value)),
      Form.Other,
      [0, 0],
      true,
    ),
  array: (type) =>
    describeType(
      `Array<${type.name}>`,
      (value) => (Array.isArray(value) ? convertAll(value, type.toNative) : MISMATCH),
      (value) => (value instanceof NativeArray ? convertAll(value.toArray(), type.fromNative) : MISMATCH),
    ),
  map: (key, type) =>
    describeType(
      `Map<${key.name}, ${type.name}>`,
      (value) => (value instanceof Map ? convertEntries([...value], key.toNative, type.toNative) : MISMATCH),
      (value) =>
        value instanceof NativeMap ? convertEntries([...value.entries()], key.fromNative, type.fromNative) : MISMATCH,
    ),
}

function convertEntries<FromKey, From, ToKey, To>(
  entries: readonly (readonly [FromKey, From])[],
  convertKey: (value: FromKey) => ToKey | typeof MISMATCH,
  convert: (value: From) => To | typeof MISMATCH,
): Map<ToKey, To> | typeof MISMATCH {
  const keys = entries.map(([key]) => key)
  const values = entries.map(([, value]) => value)
  const newKeys = convertAll(keys, convertKey)
  const newValues = convertAll(values, convert)
  if (newKeys === MISMATCH || newValues === MISMATCH) return MISMATCH
  return new Map(newKeys.map((key, i) => [key, newValues[i]!]))
}

function convertAll<From, To>(
  values: readonly From[],
  convert: (value: From) => To | typeof MISMATCH,
): To[] | typeof MISMATCH {
  const converted: To[] = []
  for (const value of values) {
    const made = convert(value)
    if (made === MISMATCH) return MISMATCH
    converted.push(made)
  }
  return converted
}
