import { Tensor, type Device } from '@tenon/core'
import { adopt } from '@tenon/core/internal'
import { Module } from '../functions/module.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import { NativeArray, NativeMap } from '../objects/containers.ts'
import { NativeObject } from '../objects/native-object.ts'
import type { Argument, PackedCallback, Value } from '../values/argument.ts'
import { DataType, FloatValue, IntValue, isDevice, isInt64, OpaquePointer } from '../values/scalars.ts'
import { ReadOnlyTensor, TensorView } from '../values/wrappers.ts'
import { describeType, Form, MISMATCH, type TypeDescriptor } from './descriptor.ts'

type Is<T> = (value: unknown) => value is T

const isA =
  <T>(constructor: abstract new (...values: never[]) => T): Is<T> =>
  (value): value is T =>
    value instanceof constructor

const either =
  <A, B>(isFirst: Is<A>, isSecond: Is<B>): Is<A | B> =>
  (value): value is A | B =>
    isFirst(value) || isSecond(value)

const isString: Is<string> = (value) => typeof value === 'string'
const isBoolean: Is<boolean> = (value) => typeof value === 'boolean'
const isNull: Is<null> = (value) => value === null
const isFunction: Is<PackedCallback> = (value): value is PackedCallback => typeof value === 'function'
const isInteger: Is<number | bigint> = (value): value is number | bigint =>
  typeof value === 'bigint' ? isInt64(value) : Number.isSafeInteger(value)

const only =
  <T>(is: Is<T>) =>
  (value: unknown): T | typeof MISMATCH =>
    is(value) ? value : MISMATCH

const isOwnTensor = either(isA(Tensor), either(isA(TensorView), isA(ReadOnlyTensor)))

/** Takes tensors of other libraries as well. */
function tensorToNative(value: unknown): Tensor | TensorView | ReadOnlyTensor | typeof MISMATCH {
  if (isOwnTensor(value)) return value
  const tensor = adopt(value, 'an argument')
  return tensor instanceof Tensor ? tensor : MISMATCH
}

const matching = <In extends Argument, Out>(
  name: string,
  isInput: Is<In>,
  isOutput: Is<Out>,
  form: number = Form.Other,
): TypeDescriptor<In, Out> => describeType(name, only(isInput), only(isOutput), form)

const same = <T extends Argument>(name: string, is: Is<T>): TypeDescriptor<T, T> => matching(name, is, is)

function integer(name: string, low: number, high: number): TypeDescriptor<number, number> {
  const isInRange = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high
  const isPassed: Is<number> = (value): value is number => isInRange(value) && !Object.is(value, -0)
  return describeType(name, only(isPassed), only(isInRange), Form.Int, [low, high])
}

const integerToNative = (value: unknown): Argument | typeof MISMATCH =>
  isInteger(value) ? new IntValue(value) : MISMATCH

/** The types that are numbers in TypeScript. */
export type NumberType = 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'float'

/** The type of {@link t}. */
export interface Types extends Readonly<Record<NumberType, TypeDescriptor<number, number>>> {
  readonly int: TypeDescriptor<number | bigint, number | bigint>
  readonly bigint: TypeDescriptor<number | bigint, bigint>
  readonly bool: TypeDescriptor<boolean, boolean>
  readonly none: TypeDescriptor<null | undefined, null>
  readonly str: TypeDescriptor<string, string>
  readonly bytes: TypeDescriptor<Uint8Array, Uint8Array>
  readonly dtype: TypeDescriptor<DataType | string, DataType>
  readonly device: TypeDescriptor<Device, Device>
  readonly tensor: TypeDescriptor<Tensor | TensorView | ReadOnlyTensor, Tensor>
  readonly func: TypeDescriptor<PackedFunc | PackedCallback, PackedFunc>
  readonly module: TypeDescriptor<Module, Module>
  readonly object: TypeDescriptor<NativeObject, NativeObject>
  readonly pointer: TypeDescriptor<OpaquePointer | null, OpaquePointer | null>
  readonly any: TypeDescriptor<Argument, Value>
  /** The type, or null. A trailing parameter may be omitted. */
  optional<In, Out>(type: TypeDescriptor<In, Out>): TypeDescriptor<In | null | undefined, Out | null>
  /** An array of JavaScript, as argument and as result, whose elements have the type. */
  array<In, Out>(type: TypeDescriptor<In, Out>): TypeDescriptor<readonly In[], Out[]>
  /** A Map of JavaScript, as argument and as result, whose keys and values have the types. */
  map<KeyIn, KeyOut, In, Out>(
    key: TypeDescriptor<KeyIn, KeyOut>,
    type: TypeDescriptor<In, Out>,
  ): TypeDescriptor<ReadonlyMap<KeyIn, In>, Map<KeyOut, Out>>
}

/**
 * The types of parameters and results: see `PackedFunc.typed`.
 *
 * | type | argument | result |
 * | --- | --- | --- |
 * | `int` | a whole number or bigint of int64 | a number if it is safe, else a bigint |
 * | `bigint` | the same | always a bigint |
 * | `int32`, `uint32`, `int8` ... | a whole number in range | the same, checked |
 * | `float` | any number, passed as a float | a number |
 * | `bool`, `str`, `bytes`, `dtype`, `device`, `tensor`, `func`, `module`, `object`, `array`, `map` | themselves | themselves |
 * | `none` | null | null, whatever the function returned |
 * | `any` | anything | anything |
 *
 * @example
 * t.array(t.int).name // 'Array<int>'
 */
export const t: Types = {
  int: describeType('int', integerToNative, only(isInteger), Form.Int, [-(2 ** 31), 2 ** 31 - 1]),
  bigint: describeType<number | bigint, bigint>('int', integerToNative, (value) =>
    isInteger(value) ? BigInt(value) : MISMATCH,
  ),
  int8: integer('int8', -128, 127),
  uint8: integer('uint8', 0, 255),
  int16: integer('int16', -32_768, 32_767),
  uint16: integer('uint16', 0, 65_535),
  int32: integer('int32', -(2 ** 31), 2 ** 31 - 1),
  uint32: integer('uint32', 0, 2 ** 32 - 1),
  float: describeType<number, number>(
    'float',
    (value) => (typeof value === 'number' ? new FloatValue(value) : MISMATCH),
    (value) => (typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : MISMATCH),
    Form.Float,
  ),
  // Many functions return 0 and 1 as a bool.
  bool: describeType('bool', only(isBoolean), (value) =>
    value === 0 || value === 1 ? value === 1 : only(isBoolean)(value),
  ),
  none: describeType<null | undefined, null>(
    'None',
    (value) => ((value ?? null) === null ? null : MISMATCH),
    () => null,
    Form.None,
    [0, 0],
    true,
  ),
  str: same('str', isString),
  bytes: same('bytes', isA(Uint8Array)),
  dtype: matching('DataType', either(isA(DataType), isString), isA(DataType)),
  device: same('Device', isDevice),
  tensor: describeType('Tensor', tensorToNative, only(isA(Tensor)), Form.Tensor),
  func: matching('Function', either(isA(PackedFunc), isFunction), isA(PackedFunc)),
  module: same('Module', isA(Module)),
  object: same('Object', isA(NativeObject)),
  pointer: same('void*', either(isA(OpaquePointer), isNull)),
  any: describeType<Argument, Value>(
    'Any',
    (value) => value as Argument,
    (value) => value,
    Form.Any,
  ),
  optional: (type) =>
    describeType(
      `Optional<${type.name}>`,
      (value) => ((value ?? null) === null ? null : type.toNative(value)),
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
  const converted = new Map<ToKey, To>()
  for (const [key, value] of entries) {
    const newKey = convertKey(key)
    const newValue = convert(value)
    if (newKey === MISMATCH || newValue === MISMATCH) return MISMATCH
    converted.set(newKey, newValue)
  }
  return converted
}

function convertAll<From, To>(
  values: readonly From[],
  convert: (value: From) => To | typeof MISMATCH,
): To[] | typeof MISMATCH {
  const converted: To[] = []
  for (const value of values) {
    const element = convert(value)
    if (element === MISMATCH) return MISMATCH
    converted.push(element)
  }
  return converted
}
