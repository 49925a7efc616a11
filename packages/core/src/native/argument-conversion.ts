import { checkSize, wrongType, wrongValue } from '../errors/check-arguments.ts'
import { describe } from '../errors/describe.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { Segment } from '../memory/segment.ts'
import type { CType } from './driver.ts'
import { StructType, type StructValue } from './struct-type.ts'
import type { ValueType } from './value-type.ts'

/** What can be passed to a native function and come back. 64-bit integers come back as bigints. */
export type Value = number | bigint | boolean | Segment | StructValue | null | undefined

export type CValue = number | bigint | boolean | StructValue

/** Checks one argument and turns it into what the driver takes. The place is only for the message. */
export type Converter = (value: Value, index: number, functionName: string) => CValue

const cTypes: Readonly<Record<ValueType, CType>> = {
  bool: 'bool',
  int8: 'int8_t',
  uint8: 'uint8_t',
  int16: 'int16_t',
  uint16: 'uint16_t',
  int32: 'int32_t',
  uint32: 'uint32_t',
  int64: 'int64_t',
  uint64: 'uint64_t',
  float32: 'float',
  float64: 'double',
  pointer: 'uintptr_t',
}

/** The C type of a value type. @throws {ArgumentError} if it is none. */
export function cTypeOf(type: ValueType | StructType): CType {
  if (type instanceof StructType) return type.cType
  if (typeof type === 'string' && Object.hasOwn(cTypes, type)) return cTypes[type]
  throw wrongType('a type', `one of ${Object.keys(cTypes).join(', ')}`, type)
}

export function converterOf(type: ValueType | StructType): Converter {
  if (type instanceof StructType) return struct(type)
  if (type === 'pointer') return pointer
  if (type === 'bool') return bool
  if (type === 'float32' || type === 'float64') return float
  const bits = Number(/\d+/.exec(type)?.[0])
  const low = type.startsWith('u') ? 0n : -(2n ** BigInt(bits - 1))
  return integer(low, low + 2n ** BigInt(bits) - 1n)
}

const placeOf = (index: number, functionName: string): string => `argument ${index + 1} of ${functionName}`

const pointer: Converter = (value, index, name) => {
  if (value instanceof Segment) return value.block.address + value.base
  if (value === null) return 0
  throw wrongType(
    placeOf(index, name),
    'a segment or null',
    value,
    'put the bytes into memory of an allocator; addresses and buffers of JavaScript can dangle.',
  )
}

function struct(type: StructType): Converter {
  return (value, index, name) => {
    if (value instanceof Segment && value.byteSize === type.byteSize) return type.read(value)
    throw new ArgumentError(
      `${placeOf(index, name)} must be a segment of ${type.byteSize} bytes, got ` +
        (value instanceof Segment ? `one of ${value.byteSize}` : describe(value)),
    )
  }
}

/** C passes these wider after the `...`: what was linked for the narrow type would read garbage. */
const promoted: Readonly<Record<string, ValueType>> = {
  bool: 'int32',
  int8: 'int32',
  uint8: 'int32',
  int16: 'int32',
  uint16: 'int32',
  float32: 'float64',
}

/** @throws {ArgumentError} if C would promote a parameter behind the `...`. */
export function checkVariadic(parameters: readonly (ValueType | StructType)[], fixedParameters: number): void {
  const fixed = checkSize(fixedParameters, 'fixedParameters', 'parameters')
  if (fixed > parameters.length) {
    throw new ArgumentRangeError(`fixedParameters must be at most ${parameters.length}, got ${fixed}`)
  }
  for (const type of parameters.slice(fixed)) {
    const wider = typeof type === 'string' ? promoted[type] : undefined
    if (wider !== undefined) {
      throw new ArgumentError(`a variadic argument can't be of type ${String(type)}: C passes it as ${wider}`, {
        hint: `declare it as ${wider}.`,
      })
    }
  }
}

const bool: Converter = (value, index, name) => {
  if (typeof value === 'boolean') return value
  throw wrongType(placeOf(index, name), 'true or false', value)
}

const float: Converter = (value, index, name) => {
  if (typeof value === 'number') return value
  throw wrongType(placeOf(index, name), 'a number', value)
}

function integer(low: bigint, high: bigint): Converter {
  const [lowNumber, highNumber] = [Number(low), Number(high)]
  return (value, index, name) => {
    if (typeof value === 'number') {
      if (Number.isSafeInteger(value) && value >= lowNumber && value <= highNumber) return value
    } else if (typeof value === 'bigint') {
      if (value >= low && value <= high) return value
    } else {
      throw wrongType(placeOf(index, name), 'a number or bigint', value)
    }
    throw wrongValue(placeOf(index, name), `a whole number from ${low} to ${high}`, value)
  }
}
