import { ArgumentError, type Device } from '@tenon/core'
import { checkName, checkSize, describe, hex, inspectAsText, wrongType, wrongValue } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { readSmallText } from './text.ts'

/** A value that is passed in a form of its own. It prints as the call of the function that makes it: `float(1)`. */
export abstract class Marked<T> {
  static {
    inspectAsText(this)
  }

  protected static readonly maker: string
  readonly value: T

  /** @internal */
  constructor(value: T) {
    this.value = value
  }

  toString(): string {
    return `${(this.constructor as typeof Marked).maker}(${this.value})`
  }
}

/** A number that is passed as a float, whatever its value: made by {@link float}. */
export class FloatValue extends Marked<number> {
  protected static override readonly maker = 'float'
}

/** A whole number that is passed as an int: made by {@link int}. */
export class IntValue extends Marked<number | bigint> {
  protected static override readonly maker = 'int'
}

/**
 * Passes a number as a float. Kernels that TVM compiled do not accept an int for a float.
 *
 * @throws {ArgumentError} if `value` is not a number.
 * @example
 * scale(x, float(2))
 */
export function float(value: number): FloatValue {
  if (typeof value !== 'number') throw wrongType('value', 'a number', value)
  return new FloatValue(value)
}

export const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/**
 * Passes a whole number as an int.
 *
 * @throws {ArgumentError} if `value` is not a number or bigint. @throws {ArgumentRangeError} if it is not an int64.
 */
export function int(value: number | bigint): IntValue {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value))
      throw wrongValue('value', 'a whole number below 2^53', value, 'Pass a bigint for larger numbers.')
  } else if (typeof value !== 'bigint') {
    throw wrongType('value', 'a number or bigint', value)
  } else if (!isInt64(value)) {
    throw wrongValue('value', 'from -2^63 to 2^63 - 1', value)
  }
  return new IntValue(value)
}

/**
 * Passes the 64 bits of a whole number from 0 to 2^64 - 1, for functions that read a uint64. A number above 2^63 - 1 is passed and
 * returned as a negative int, which `BigInt.asUintN(64, result)` converts back.
 *
 * @throws {ArgumentError} if `value` is not a number or bigint. @throws {ArgumentRangeError} if it is not a uint64.
 * @example
 * u64(2n ** 64n - 1n).value // -1n
 */
export function u64(value: number | bigint): IntValue {
  if (typeof value !== 'bigint') return int(checkSize(value, 'value', ''))
  if (BigInt.asUintN(64, value) !== value) throw wrongValue('value', 'from 0 to 2^64 - 1', value)
  return new IntValue(BigInt.asIntN(64, value))
}

/** An address whose meaning only native code knows. It is passed on unchanged and never read. */
export class OpaquePointer {
  readonly address: bigint
  /** @internal */
  constructor(address: bigint) {
    this.address = address
  }

  toString(): string {
    return `OpaquePointer ${hex(this.address)}`
  }
}

/**
 * An element type of tvm-ffi: DLPack's code, bits and lanes. Made by `dataType()`.
 */
export class DataType {
  readonly code: number
  readonly bits: number
  readonly lanes: number
  readonly #text: string

  /** @internal */
  constructor(code: number, bits: number, lanes: number, text: string) {
    this.code = code
    this.bits = bits
    this.lanes = lanes
    this.#text = text
  }

  /** The name that tvm-ffi has for the type: `float32`, `int8x4`. */
  toString(): string {
    return this.#text
  }
}

const elementTypes = new Map<number, DataType>()

/**
 * An element type by its name in tvm-ffi: `float32`, `int8x4`, `bool`, `float8_e4m3fn`.
 *
 * @throws {PackedFuncError} of kind `ValueError` if there is no such type.
 * @example
 * dataType('float16x2').lanes // 2
 */
export function dataType(name: string): DataType {
  checkName(name, 'name')
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const offset = stack.textOffset()
    const size = stack.bytes.write(name, offset, 256)
    if (stack.host.tn_packed_dtype_parse(stack.slotAddress(slot), stack.address + offset, size) !== 0)
      throw takeError(stack, slot)
    return dataTypeAt(stack, slot)
  })
}

export function dataTypeAt(stack: Stack, slot: number): DataType {
  const word = stack.i32[slot * 4 + 2]!
  let type = elementTypes.get(word)
  if (type === undefined) {
    if (stack.host.tn_packed_dtype_text(stack.slotAddress(slot)) !== 0) throw takeError(stack, slot)
    const isLong = stack.i32[slot * 4 + 1] === 1 && stack.i32[slot * 4] === TypeIndex.Str
    const text = isLong ? stack.outText(stack.i32[slot * 4 + 2]!) : readSmallText(stack, slot)
    type = new DataType(word & 0xff, (word >> 8) & 0xff, (word >> 16) & 0xffff, text)
    elementTypes.set(word, type)
  }
  return type
}

/** A device as an argument or a result: made by {@link device}. */
export class DeviceValue implements Device {
  readonly type: number
  readonly id: number
  /** @internal */
  constructor(type: number, id: number) {
    this.type = type
    this.id = id
  }

  /** The name and index, such as `cuda:1`. A type without a name is `device(40):0`. */
  toString(): string {
    const name = [...deviceTypes].find(([, type]) => type === this.type)?.[0] ?? `device(${this.type})`
    return `${name}:${this.id}`
  }
}

const isInt32 = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value

export function isDevice(value: unknown): value is Device {
  if (typeof value !== 'object' || value === null) return false
  return 'type' in value && 'id' in value && isInt32(value.type) && isInt32(value.id)
}

const deviceTypes = new Map<string, number>([
  ['cpu', 1],
  ['cuda', 2],
  ['cuda_host', 3],
  ['opencl', 4],
  ['vulkan', 7],
  ['metal', 8],
  ['vpi', 9],
  ['rocm', 10],
  ['rocm_host', 11],
  ['ext_dev', 12],
  ['cuda_managed', 13],
  ['oneapi', 14],
  ['webgpu', 15],
  ['hexagon', 16],
  ['maia', 17],
  ['trn', 18],
])

/** Other names that TVM accepts for devices. */
const deviceAliases = new Map<string, string>([
  ['c', 'cpu'],
  ['llvm', 'cpu'],
  ['stackvm', 'cpu'],
  ['gpu', 'cuda'],
  ['nvptx', 'cuda'],
  ['cl', 'opencl'],
  ['sdaccel', 'opencl'],
  ['mtl', 'metal'],
])

/**
 * A device by name, such as `cpu` or `cuda:1`, or by its type in DLPack and its index. Names that TVM has for the same devices, such as
 * `gpu`, `cl` and `mtl`, are accepted.
 *
 * @throws {ArgumentError} if the name is not known. @throws {ArgumentRangeError} if a number is not valid.
 * @example
 * device('cuda:1').type // 2
 */
export function device(name: string | number, id?: number): DeviceValue {
  if (typeof name === 'number') return new DeviceValue(checkInt32(name, 'type'), checkInt32(id ?? 0, 'id'))
  const match = typeof name === 'string' ? /^([a-z_]+)(?::(\d+))?$/.exec(name) : null
  const type = match === null ? undefined : deviceTypes.get(deviceAliases.get(match[1]!) ?? match[1]!)
  if (type === undefined) {
    const known = [...deviceTypes.keys()]
    throw new ArgumentError(`a device must be a name such as cpu or cuda:1, got ${describe(name)}`, {
      hint: `Use one of ${known.join(', ')}.`,
      details: { expected: known, received: describe(name) },
    })
  }
  return new DeviceValue(type, checkInt32(id ?? Number(match![2] ?? 0), 'id'))
}

function checkInt32(value: number, name: string): number {
  if (checkSize(value, name, '') > 0x7fff_ffff) throw wrongValue(name, 'below 2^31', value)
  return value
}

for (const Class of [OpaquePointer, DataType, DeviceValue]) inspectAsText(Class)
