import type { Device, Tensor } from '@tenon/core'
import type { PackedFunc } from '../functions/packed-func.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeArray } from '../objects/native-array.ts'
import { NativeMap } from '../objects/native-map.ts'
import { typeKeyOf, type NativeObject } from '../objects/native-object.ts'
import { NativeShape } from '../objects/native-shape.ts'
import type { Value } from '../values/argument.ts'
import { dataType } from '../values/data-type.ts'
import { resultType } from '../values/native-type.ts'
import { device, type DataType, type OpaquePointer } from '../values/scalars.ts'
import { NamedType } from './descriptor.ts'

/** Marks a value that does not have the type. `got` names the type that it has. */
export class Mismatch {
  readonly got: string
  constructor(got: string) {
    this.got = got
  }
}

type Read<Out> = (value: Value, typeIndex: number) => Out | Mismatch

/** Reads an argument of a TypeScript function: one of {@link accept}. */
export interface Acceptor<Out> {
  /** The type as tvm-ffi prints it. */
  readonly name: string
  /** @internal */
  readonly read: Read<Out>
}

const acceptor = <Out>(name: string, read: Read<Out>): Acceptor<Out> => Object.assign(new NamedType(name), { read })

/** The type of the values that an acceptor reads. */
export type Accepted<A> = A extends Acceptor<infer Out> ? Out : never

const mismatch = (typeIndex: number): Mismatch => new Mismatch(typeKeyOf(typeIndex))

const strings: readonly number[] = [TypeIndex.RawStr, TypeIndex.SmallStr, TypeIndex.Str]
const bytes: readonly number[] = [TypeIndex.ByteArrayPtr, TypeIndex.SmallBytes, TypeIndex.Bytes]

/** Accepts the values of some types as they are. */
const taking = <Out>(name: string, ...typeIndices: readonly number[]): Acceptor<Out> =>
  acceptor(name, (value, typeIndex) => (typeIndices.includes(typeIndex) ? (value as Out) : mismatch(typeIndex)))

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

/** Reads the elements of an array, each as one type. */
function readElements<Out>(array: NativeArray, element: Acceptor<Out>): Out[] | Mismatch {
  const read: Out[] = []
  for (let i = 0, { size } = array; i < size; i++) {
    const item = array.get(i)
    const converted = element.read(item, resultType(item))
    if (converted instanceof Mismatch) return new Mismatch(`Array[index ${i}: ${converted.got}]`)
    read.push(converted)
  }
  return read
}

function readShape(value: Value, typeIndex: number): (number | bigint)[] | Mismatch {
  if (value instanceof NativeShape) return value.toArray()
  return value instanceof NativeArray && typeIndex === TypeIndex.Array
    ? readElements(value, accept.int)
    : mismatch(typeIndex)
}

/** Reads the entries of a map, each as two types. */
function readMap<K, V>(map: NativeMap, key: Acceptor<K>, type: Acceptor<V>): Map<K, V> | Mismatch {
  const read = new Map<K, V>()
  const readBy =
    <Out>(one: Acceptor<Out>) =>
    (value: Value): Out | Mismatch =>
      one.read(value, resultType(value))
  for (const [k, v] of map.readEntries(readBy(key), readBy(type))) {
    if (k instanceof Mismatch) return new Mismatch(`Map[${k.got}, V]`)
    if (v instanceof Mismatch) return new Mismatch(`Map[K, ${v.got}]`)
    read.set(k, v)
  }
  return read
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
  /** An array, read element by element. */
  array<Out>(type: Acceptor<Out>): Acceptor<Out[]>
  /** A map, read entry by entry. */
  map<K, V>(key: Acceptor<K>, type: Acceptor<V>): Acceptor<Map<K, V>>
}

/**
 * The types of the arguments of a TypeScript function, with the conversions of tvm-ffi for functions of C++: see `typedFunc`.
 *
 * | type | accepts |
 * | --- | --- |
 * | `int` | ints and bools, not floats |
 * | `float` | floats, ints and bools |
 * | `bool`, `strictBool` | bools and ints; only bools |
 * | `str`, `bytes`, `text` | text; bytes; either |
 * | `dtype`, `device` | themselves, and text that names one |
 * | `tensor`, `tensorView` | owned tensors and null; owned and borrowed tensors |
 * | `func`, `object`, `pointer` | themselves, and null |
 * | `shape` | shapes, and arrays of ints |
 * | `optional(x)`, `array(x)`, `map(k, v)` | null too; arrays and maps, element by element |
 *
 * @example
 * accept.array(accept.int).name // 'Array<int>'
 */
export const accept: Acceptors = {
  int: acceptor('int', readWhole),
  float: acceptor('float', readDouble),
  bool: acceptor('bool', (value, typeIndex) => {
    const whole = readWhole(value, typeIndex)
    return whole instanceof Mismatch ? whole : Number(whole) !== 0
  }),
  strictBool: taking('bool', TypeIndex.Bool),
  pointer: taking('void*', TypeIndex.OpaquePtr, TypeIndex.None),
  str: taking('str', ...strings),
  bytes: taking('bytes', ...bytes),
  text: acceptor('std::string', (value, typeIndex) =>
    bytes.includes(typeIndex) ? Buffer.from(value as Uint8Array).toString() : accept.str.read(value, typeIndex),
  ),
  dtype: acceptor('DataType', readDataType),
  device: acceptor('Device', readDevice),
  tensor: taking('ffi.Tensor', TypeIndex.Tensor, TypeIndex.None),
  tensorView: taking('DLTensor*', TypeIndex.DLTensorPtr, TypeIndex.Tensor),
  func: taking('ffi.Function', TypeIndex.Function, TypeIndex.None),
  object: acceptor('ffi.Object', (value, typeIndex) =>
    typeIndex >= TypeIndex.Object || typeIndex === TypeIndex.None ? (value as NativeObject) : mismatch(typeIndex),
  ),
  shape: acceptor('ffi.Shape', readShape),
  any: acceptor('Any', (value) => value),
  optional: <Out>(type: Acceptor<Out>) =>
    acceptor<Out | null>(`Optional<${type.name}>`, (value, typeIndex) =>
      typeIndex === TypeIndex.None ? null : type.read(value, typeIndex),
    ),
  array: <Out>(type: Acceptor<Out>) =>
    acceptor<Out[]>(`Array<${type.name}>`, (value, typeIndex) =>
      value instanceof NativeArray && typeIndex === TypeIndex.Array ? readElements(value, type) : mismatch(typeIndex),
    ),
  map: <K, V>(key: Acceptor<K>, type: Acceptor<V>) =>
    acceptor<Map<K, V>>(`Map<${key.name}, ${type.name}>`, (value, typeIndex) =>
      value instanceof NativeMap && typeIndex === TypeIndex.Map ? readMap(value, key, type) : mismatch(typeIndex),
    ),
}
