import { ArgumentError, ArgumentRangeError, type Device } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'

/** A number that travels as a float, whatever its value: made by {@link float}. */
export class FloatValue {
  readonly value: number
  /** @internal */
  constructor(value: number) {
    this.value = value
  }
}

/** A whole number that travels as an int: made by {@link int}. */
export class IntValue {
  readonly value: number | bigint
  /** @internal */
  constructor(value: number | bigint) {
    this.value = value
  }
}

/**
 * Makes a number travel as a float. Kernels that TVM compiled take no int where they want a float.
 *
 * @throws {ArgumentError} if it is no number.
 * @example
 * scale.call(x, float(2))
 */
export function float(value: number): FloatValue {
  if (typeof value !== 'number') throw new ArgumentError(`value must be a number, got ${describe(value)}`)
  return new FloatValue(value)
}

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n
const UINT64_MAX = 2n ** 64n - 1n

/**
 * Makes a whole number travel as an int, and refuses any other.
 *
 * @throws {ArgumentError} if it is no number or bigint. @throws {ArgumentRangeError} if it is no int64.
 */
export function int(value: number | bigint): IntValue {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value))
      throw new ArgumentRangeError(`value must be a whole number below 2^53, got ${describe(value)}`, {
        hint: 'pass a bigint for larger ones.',
      })
  } else if (typeof value !== 'bigint') {
    throw new ArgumentError(`value must be a number or bigint, got ${describe(value)}`)
  } else if (value < INT64_MIN || value > INT64_MAX) {
    throw new ArgumentRangeError(`value must be from -2^63 to 2^63 - 1, got ${describe(value)}`)
  }
  return new IntValue(value)
}

/**
 * Passes a whole number from 0 to 2^64 - 1 by its 64 bits, for functions that take them for a uint64: what is above 2^63 - 1
 * travels as a negative int, and comes back as one. `BigInt.asUintN(64, result)` turns it back.
 *
 * @throws {ArgumentError} if it is no number or bigint. @throws {ArgumentRangeError} if it is no uint64.
 * @example
 * u64(2n ** 64n - 1n).value // -1n
 */
export function u64(value: number | bigint): IntValue {
  if (typeof value !== 'bigint') return int(checkSize(value, 'value', ''))
  if (value < 0n || value > UINT64_MAX)
    throw new ArgumentRangeError(`value must be from 0 to 2^64 - 1, got ${describe(value)}`)
  return new IntValue(BigInt.asIntN(64, value))
}

/** Whether a bigint is an int64. */
export const isInt64 = (value: bigint): boolean => value >= INT64_MIN && value <= INT64_MAX

/** An address in native code's hands, of which nothing is known: never read, passed on as it came. */
export class OpaquePointer {
  readonly address: bigint
  /** @internal */
  constructor(address: bigint) {
    this.address = address
  }
}

/**
 * An element type as tvm-ffi has it: DLPack's code, bits and lanes. Made by `dataType()`.
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

  /** As tvm-ffi writes it: `float32`, `int8x4`. */
  toString(): string {
    return this.#text
  }
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

  /** `cuda:1`; a type without a name is `device(40):0`. */
  toString(): string {
    const name = [...deviceTypes].find(([, type]) => type === this.type)?.[0] ?? `device(${this.type})`
    return `${name}:${this.id}`
  }
}

/** DLPack's device types by name; the first of several names is the usual one. */
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

/**
 * A device: `cpu`, `cuda:1`, or a type of DLPack and an index.
 *
 * @throws {ArgumentError} if the name is unknown. @throws {ArgumentRangeError} if a number is not valid.
 * @example
 * device('cuda:1').type // 2
 */
export function device(name: string | number, id?: number): DeviceValue {
  if (typeof name === 'number') return new DeviceValue(checkInt32(name, 'type'), checkInt32(id ?? 0, 'id'))
  const match = typeof name === 'string' ? /^([a-z_]+)(?::(\d+))?$/.exec(name) : null
  const type = match === null ? undefined : deviceTypes.get(match[1]!)
  if (type === undefined) {
    throw new ArgumentError(`a device must be a name such as cpu or cuda:1, got ${describe(name)}`, {
      hint: `known are ${[...deviceTypes.keys()].join(', ')}.`,
    })
  }
  return new DeviceValue(type, checkInt32(id ?? Number(match![2] ?? 0), 'id'))
}

function checkInt32(value: number, name: string): number {
  if (checkSize(value, name, '') > 0x7fff_ffff) throw new ArgumentRangeError(`${name} must be below 2^31, got ${value}`)
  return value
}
