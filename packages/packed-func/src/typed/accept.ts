import type { Device, Tensor } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'
import { packedFunc } from '../functions/closure.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeShape, type NativeArray, type NativeMap } from '../objects/containers.ts'
import { typeKeyOf, type NativeObject } from '../objects/native-object.ts'
import type { Argument, Value } from '../values/argument.ts'
import { argumentTypes, resultType } from '../values/native-type.ts'
import { dataType, device, type DataType, type OpaquePointer } from '../values/scalars.ts'
import { NamedType, Signature } from './descriptor.ts'

/** Marks a value that does not have the type. `got` names the type that it has. */
class Mismatch {
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
  /** The type of the values, for TypeScript. The property does not exist at run time. */
  readonly values?: Out
  /** @internal */
  readonly read: Read<Out>
}

const acceptor = <Out>(name: string, read: Read<Out>): Acceptor<Out> => Object.assign(new NamedType(name), { read })

/** The type of the values that an acceptor reads. */
export type Accepted<A> = A extends Acceptor<infer Out> ? Out : never

const mismatch = (typeIndex: number): Mismatch => new Mismatch(typeKeyOf(typeIndex))

const strings: readonly number[] = [TypeIndex.RawStr, TypeIndex.SmallStr, TypeIndex.Str]
const bytes: readonly number[] = [TypeIndex.ByteArrayPtr, TypeIndex.SmallBytes, TypeIndex.Bytes]

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

function readArray<Out>(value: Value, typeIndex: number, element: Acceptor<Out>): Out[] | Mismatch {
  if (typeIndex !== TypeIndex.Array) return mismatch(typeIndex)
  const read: Out[] = []
  const array = value as NativeArray
  for (let i = 0, { size } = array; i < size; i++) {
    const item = array.get(i)
    const converted = element.read(item, resultType(item))
    if (converted instanceof Mismatch) return new Mismatch(`Array[index ${i}: ${converted.got}]`)
    read.push(converted)
  }
  return read
}

function readMap<K, V>(value: Value, typeIndex: number, key: Acceptor<K>, type: Acceptor<V>): Map<K, V> | Mismatch {
  if (typeIndex !== TypeIndex.Map) return mismatch(typeIndex)
  const read = new Map<K, V>()
  const readBy =
    <Out>(one: Acceptor<Out>) =>
    (item: Value): Out | Mismatch =>
      one.read(item, resultType(item))
  for (const [k, v] of (value as NativeMap).readEntries(readBy(key), readBy(type))) {
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
 * The types of the arguments of a TypeScript function, with the conversions of tvm-ffi for functions of C++: see {@link typedFunc}.
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
  shape: acceptor('ffi.Shape', (value, typeIndex) =>
    value instanceof NativeShape ? value.toArray() : readArray(value, typeIndex, accept.int),
  ),
  any: acceptor('Any', (value) => value),
  optional: <Out>(type: Acceptor<Out>) =>
    acceptor<Out | null>(`Optional<${type.name}>`, (value, typeIndex) =>
      typeIndex === TypeIndex.None ? null : type.read(value, typeIndex),
    ),
  array: <Out>(type: Acceptor<Out>) =>
    acceptor<Out[]>(`Array<${type.name}>`, (value, typeIndex) => readArray(value, typeIndex, type)),
  map: <K, V>(key: Acceptor<K>, type: Acceptor<V>) =>
    acceptor<Map<K, V>>(`Map<${key.name}, ${type.name}>`, (value, typeIndex) => readMap(value, typeIndex, key, type)),
}

/** The values that parameters accept, in order. */
export type AcceptedAll<P extends readonly Acceptor<unknown>[]> = { [I in keyof P]: Accepted<P[I]> }

/**
 * Makes a packed function of a TypeScript function, and checks and converts its arguments as tvm-ffi does for a function of C++.
 * Callers with other values, or another number of them, get tvm-ffi's messages.
 *
 * @param options.name the name of the function in messages. @param options.result the name of its result's type in messages.
 * @throws {ArgumentError} if `run` is not a function, or an option is not known.
 * @example
 * const repeat = typedFunc([accept.str, accept.int], (text, count) => text.repeat(Number(count)), { name: 'repeat' })
 * repeat('ab', 2) // 'abab'
 */
export function typedFunc<const P extends readonly Acceptor<unknown>[]>(
  parameters: P,
  run: (...values: AcceptedAll<P>) => Argument | void,
  options?: { readonly name?: string; readonly result?: string },
): PackedFunc {
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const { name = '', result = 'Any' } = checkOptions(options, ['name', 'result'])
  const signature = new Signature(parameters, { name: result }, name)
  const checked = packedFunc((...values: Value[]) => {
    const types = argumentTypes(values)
    if (values.length !== parameters.length) throw signature.wrongCount(values.length)
    const accepted = parameters.map((type, i) => {
      const read = type.read(values[i]!, types[i]!)
      if (read instanceof Mismatch) throw signature.mismatch(i, read.got)
      return read
    })
    return run(...(accepted as unknown as AcceptedAll<P>))
  })
  return checked.rename(name || run.name)
}
