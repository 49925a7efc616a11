import { describe } from '../errors/describe.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { callStack, NO_OPERANDS, type Gate, type Gated } from '../memory/gate.ts'
import { Segment } from '../memory/segment.ts'
import { functionAt, type CType } from './driver.ts'

/** Types of parameters and results of a native function. A pointer is a segment, or null. */
export type ValueType =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float32'
  | 'float64'
  | 'pointer'

/** The C signature of a function. */
export interface Signature {
  /** `void` without it. A pointer comes back as an address: a bigint. */
  readonly result?: ValueType | 'void'
  readonly parameters?: readonly ValueType[]
}

/** What can be passed to a native function and come back. 64-bit integers come back as bigints. */
export type Value = number | bigint | boolean | Segment | null | undefined

/** A native function that checks its arguments and keeps their memory and its library open while it runs. */
export type NativeFunction<Result> = (...values: readonly Value[]) => Result

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

type Converter = (value: Value, place: string) => number | bigint | boolean

/**
 * Makes a native function out of an address.
 *
 * @param gate of what the code belongs to: held while the function runs.
 * @param name for messages.
 * @throws {ArgumentError} if the signature names an unknown type.
 */
export function bindFunction(gate: Gate, name: string, address: number, signature: Signature): NativeFunction<Value> {
  const parameters = signature.parameters ?? []
  const result = signature.result ?? 'void'
  const raw = functionAt(address, result === 'void' ? 'void' : cTypeOf(result), parameters.map(cTypeOf)) as (
    ...values: (number | bigint | boolean)[]
  ) => Value
  const converters = parameters.map(converterOf)
  const wide = result === 'int64' || result === 'uint64' || result === 'pointer'
  return (...values) => {
    if (values.length !== parameters.length) {
      throw new ArgumentError(`${name} takes ${parameters.length} arguments, got ${values.length}`)
    }
    const operands: Gated[] = [{ gate }]
    const converted = converters.map((convert, i) => {
      const value = values[i]
      if (value instanceof Segment) operands.push(value.block)
      return convert(value, `argument ${i + 1} of ${name}`)
    })
    for (const operand of operands) if (!operand.gate.alive) operand.gate.owner.checkAlive()
    callStack.frames[callStack.depth++] = operands
    try {
      const value = raw(...converted)
      return wide ? BigInt(value as number | bigint) : value
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function cTypeOf(type: ValueType): CType {
  if (Object.hasOwn(cTypes, type)) return cTypes[type]
  throw new ArgumentError(`a type must be one of ${Object.keys(cTypes).join(', ')}, got ${describe(type)}`)
}

function converterOf(type: ValueType): Converter {
  if (type === 'pointer') return pointer
  if (type === 'bool') return bool
  if (type === 'float32' || type === 'float64') return float
  const bits = Number(/\d+/.exec(type)?.[0])
  const low = type.startsWith('u') ? 0n : -(2n ** BigInt(bits - 1))
  return integer(low, low + 2n ** BigInt(bits) - 1n)
}

const pointer: Converter = (value, place) => {
  if (value === null) return 0
  if (value instanceof Segment) return value.block.address + value.base
  throw new ArgumentError(`${place} must be a segment or null, got ${describe(value)}`, {
    hint: 'put the bytes into memory of an allocator; addresses and buffers of JavaScript can dangle.',
  })
}

const bool: Converter = (value, place) => {
  if (typeof value === 'boolean') return value
  throw new ArgumentError(`${place} must be true or false, got ${describe(value)}`)
}

const float: Converter = (value, place) => {
  if (typeof value === 'number') return value
  throw new ArgumentError(`${place} must be a number, got ${describe(value)}`)
}

function integer(low: bigint, high: bigint): Converter {
  const [lowNumber, highNumber] = [Number(low), Number(high)]
  return (value, place) => {
    if (typeof value === 'number') {
      if (Number.isSafeInteger(value) && value >= lowNumber && value <= highNumber) return value
    } else if (typeof value === 'bigint') {
      if (value >= low && value <= high) return value
    } else {
      throw new ArgumentError(`${place} must be a number or bigint, got ${describe(value)}`)
    }
    throw new ArgumentRangeError(`${place} must be a whole number from ${low} to ${high}, got ${describe(value)}`)
  }
}
