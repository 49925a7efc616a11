import type { Device, Tensor } from '@tenon/core'
import { builtin } from '../functions/builtin.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeArray } from '../objects/native-array.ts'
import { NativeMap } from '../objects/native-map.ts'
import { typeKeyOf, type NativeObject } from '../objects/native-object.ts'
import { NativeShape } from '../objects/native-shape.ts'
import type { Value } from '../values/argument.ts'
import { resultType } from '../values/argument-types.ts'
import { dataType } from '../values/data-type.ts'
import { device, type DataType, type OpaquePointer } from '../values/scalars.ts'

/** A value is none of the type that is wanted: what it is instead. */
export class Mismatch {
  readonly got: string
  constructor(got: string) {
    this.got = got
  }
}

/** Reads an argument of a function of TypeScript: made by {@link accept}. */
export interface Acceptor<Out> {
  /** As tvm-ffi prints the type. */
  readonly name: string
  /** @internal */
  readonly read: (value: Value, typeIndex: number) => Out | Mismatch
}

/** What an acceptor gives. */
export type Accepted<A> = A extends Acceptor<infer Out> ? Out : never

/** What tvm-ffi calls the types below 64. */
const names: Readonly<Record<number, string>> = {
  [TypeIndex.None]: 'None',
  [TypeIndex.Int]: 'int',
  [TypeIndex.Bool]: 'bool',
  [TypeIndex.Float]: 'float',
  [TypeIndex.OpaquePtr]: 'void*',
  [TypeIndex.DataType]: 'DataType',
  [TypeIndex.Device]: 'Device',
  [TypeIndex.DLTensorPtr]: 'DLTensor*',
  [TypeIndex.RawStr]: 'const char*',
  [TypeIndex.ByteArrayPtr]: 'TVMFFIByteArray*',
  [TypeIndex.ObjectRValueRef]: 'ObjectRValueRef',
  [TypeIndex.SmallStr]: 'ffi.SmallStr',
  [TypeIndex.SmallBytes]: 'ffi.SmallBytes',
}

const mismatch = (typeIndex: number): Mismatch => new Mismatch(names[typeIndex] ?? typeKeyOf(typeIndex))

const strings: readonly number[] = [TypeIndex.RawStr, TypeIndex.SmallStr, TypeIndex.Str]
const bytes: readonly number[] = [TypeIndex.ByteArrayPtr, TypeIndex.SmallBytes, TypeIndex.Bytes]

/** Takes some types as they are. */
const taking = <Out>(name: string, ...typeIndices: readonly number[]): Acceptor<Out> => ({
  name,
  read: (value, typeIndex) => (typeIndices.includes(typeIndex) ? (value as Out) : mismatch(typeIndex)),
})

function readWhole(value: Value, typeIndex: number): number | bigint | Mismatch {
  if (typeIndex === TypeIndex.Int) return value as number | bigint
  return typeIndex === TypeIndex.Bool ? Number(value) : mismatch(typeIndex)
}

function readDouble(value: Value, typeIndex: number): number | Mismatch {
  if (typeIndex === TypeIndex.Float) return value as number
  const whole = readWhole(value, typeIndex)
  return whole instanceof Mismatch ? whole : Number(whole)
}

function readDataType(value: Value, typeIndex: number): DataType | Mismatch {
  if (typeIndex === TypeIndex.DataType) return value as DataType
  if (strings.includes(typeIndex)) return dataType(value as string)
  return bytes.includes(typeIndex) ? dataType(Buffer.from(value as Uint8Array).toString()) : mismatch(typeIndex)
}

function readDevice(value: Value, typeIndex: number): Device | Mismatch {
  if (typeIndex === TypeIndex.Device) return value as Device
  if (!strings.includes(typeIndex)) return mismatch(typeIndex)
  try {
    return device(value as string)
  } catch {
    return mismatch(typeIndex)
  }
}

/** The elements of an array, each read as one type. */
function readElements<Out>(array: NativeArray, element: Acceptor<Out>): Out[] | Mismatch {
  const read: Out[] = []
  const get = builtin(array.typeIndex === TypeIndex.List ? 'ffi.ListGetItem' : 'ffi.ArrayGetItem')
  for (let i = 0, { size } = array; i < size; i++) {
    const item = get.call(array, i)
    const made = element.read(item, resultType(item))
    if (made instanceof Mismatch) return new Mismatch(`Array[index ${i}: ${made.got}]`)
    read.push(made)
  }
  return read
}

function readShape(value: Value, typeIndex: number): (number | bigint)[] | Mismatch {
  if (value instanceof NativeShape) return value.toArray()
  return value instanceof NativeArray && typeIndex === TypeIndex.Array
    ? readElements(value, accept.int)
    : mismatch(typeIndex)
}

/** What a native iterator of a map answers. */
const KEY = 0
const VALUE = 1
const NEXT = 2

/** The entries of a map, each read as two types. */
function readMap<K, V>(map: NativeMap, key: Acceptor<K>, type: Acceptor<V>): Map<K, V> | Mismatch {
  const read = new Map<K, V>()
  const iterator = builtin('ffi.MapForwardIterFunctor').call(map) as PackedFunc
  const part = <Out>(which: number, acceptor: Acceptor<Out>): Out | Mismatch => {
    const value = iterator.call(which)
    return acceptor.read(value, resultType(value))
  }
  try {
    for (let left = map.size; left > 0; left--) {
      const [k, v] = [part(KEY, key), part(VALUE, type)]
      if (k instanceof Mismatch) return new Mismatch(`Map[${k.got}, V]`)
      if (v instanceof Mismatch) return new Mismatch(`Map[K, ${v.got}]`)
      read.set(k, v)
      iterator.call(NEXT)
    }
    return read
  } finally {
    iterator.dispose()
  }
}

/** The type of {@link accept}. */
export interface Acceptors {
  readonly int: Acceptor<number | bigint>
  readonly float: Acceptor<number>
  readonly bool: Acceptor<boolean>
  readonly strictBool: Acceptor<boolean>
  readonly pointer: Acceptor<OpaquePointer | null>
  readonly str: Acceptor<string>
  readonly bytes: Acceptor<Uint8Array>
  readonly text: Acceptor<string>
  readonly dtype: Acceptor<DataType>
  readonly device: Acceptor<Device>
  readonly tensor: Acceptor<Tensor | null>
  readonly tensorView: Acceptor<Tensor>
  readonly func: Acceptor<PackedFunc | null>
  readonly object: Acceptor<NativeObject | Tensor | string | Uint8Array | Error | null>
  readonly shape: Acceptor<(number | bigint)[]>
  readonly any: Acceptor<Value>
  /** The type, or null. */
  optional<Out>(type: Acceptor<Out>): Acceptor<Out | null>
  /** An array, element by element. */
  array<Out>(type: Acceptor<Out>): Acceptor<Out[]>
  /** A map, entry by entry. */
  map<K, V>(key: Acceptor<K>, type: Acceptor<V>): Acceptor<Map<K, V>>
}

/**
 * What a function of TypeScript takes, by the conversions of tvm-ffi's own functions in C++: see `typedFunc`.
 *
 * | type | takes |
 * | --- | --- |
 * | `int` | ints and bools, no float |
 * | `float` | floats, ints and bools |
 * | `bool`, `strictBool` | bools and ints; bools only |
 * | `str`, `bytes`, `text` | text; bytes; either |
 * | `dtype`, `device` | themselves, and text that names one |
 * | `tensor`, `tensorView` | tensors, which may be kept, or null; also those that are only lent |
 * | `func`, `object`, `pointer` | themselves, or null |
 * | `shape` | shapes, and arrays of ints |
 * | `optional(x)`, `array(x)`, `map(k, v)` | null too; arrays and maps, element by element |
 */
export const accept: Acceptors = {
  int: { name: 'int', read: readWhole },
  float: { name: 'float', read: readDouble },
  bool: {
    name: 'bool',
    read: (value, typeIndex) => {
      const whole = readWhole(value, typeIndex)
      return whole instanceof Mismatch ? whole : Number(whole) !== 0
    },
  },
  strictBool: taking('bool', TypeIndex.Bool),
  pointer: taking('void*', TypeIndex.OpaquePtr, TypeIndex.None),
  str: taking('str', ...strings),
  bytes: taking('bytes', ...bytes),
  text: {
    name: 'std::string',
    read: (value, typeIndex) =>
      bytes.includes(typeIndex) ? Buffer.from(value as Uint8Array).toString() : accept.str.read(value, typeIndex),
  },
  dtype: { name: 'DataType', read: readDataType },
  device: { name: 'Device', read: readDevice },
  tensor: taking('ffi.Tensor', TypeIndex.Tensor, TypeIndex.None),
  tensorView: taking('DLTensor*', TypeIndex.DLTensorPtr, TypeIndex.Tensor),
  func: taking('ffi.Function', TypeIndex.Function, TypeIndex.None),
  object: {
    name: 'ffi.Object',
    read: (value, typeIndex) =>
      typeIndex >= TypeIndex.Object || typeIndex === TypeIndex.None ? (value as NativeObject) : mismatch(typeIndex),
  },
  shape: { name: 'ffi.Shape', read: readShape },
  any: { name: 'Any', read: (value) => value },
  optional: <Out>(type: Acceptor<Out>): Acceptor<Out | null> => ({
    name: `Optional<${type.name}>`,
    read: (value, typeIndex) => (typeIndex === TypeIndex.None ? null : type.read(value, typeIndex)),
  }),
  array: <Out>(type: Acceptor<Out>): Acceptor<Out[]> => ({
    name: `Array<${type.name}>`,
    read: (value, typeIndex) =>
      value instanceof NativeArray && typeIndex === TypeIndex.Array ? readElements(value, type) : mismatch(typeIndex),
  }),
  map: <K, V>(key: Acceptor<K>, type: Acceptor<V>): Acceptor<Map<K, V>> => ({
    name: `Map<${key.name}, ${type.name}>`,
    read: (value, typeIndex) =>
      value instanceof NativeMap && typeIndex === TypeIndex.Map ? readMap(value, key, type) : mismatch(typeIndex),
  }),
}
