import { wrongType, wrongValue } from '@tenon/core/internal'

const ranges: Readonly<Record<string, string>> = {
  int8: 'a whole number from -128 to 127',
  uint8: 'a whole number from 0 to 255',
  int16: 'a whole number from -32768 to 32767',
  uint16: 'a whole number from 0 to 65535',
  int32: 'a whole number from -2^31 to 2^31 - 1',
  uint32: 'a whole number from 0 to 2^32 - 1',
  int64: 'a bigint from -2^63 to 2^63 - 1, or a safe integer',
  uint64: 'a bigint from 0 to 2^64 - 1, or a safe integer',
  float32: 'a number',
  float64: 'a number',
  bool: 'true or false',
  'a number': 'between -(2^53 - 1) and 2^53 - 1',
}

/** Throws the error for a value that does not fit its kind. It is outside of the accessors because it is never hot. */
export function refuse(kind: string, value: unknown): never {
  const wrong = typeof value === 'number' || typeof value === 'bigint' ? wrongValue : wrongType
  throw wrong(`a value of kind ${kind}`, ranges[kind]!, value)
}

/** The bigint to write for a signed 64-bit integer. @throws {ArgumentError | ArgumentRangeError} if it does not fit. */
export function toInt64(value: number | bigint): bigint {
  if (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value)) return BigInt(value)
  return refuse('int64', value)
}

/** The bigint to write for an unsigned 64-bit integer. @throws {ArgumentError | ArgumentRangeError} if it does not fit. */
export function toUint64(value: number | bigint): bigint {
  if (typeof value === 'bigint' ? BigInt.asUintN(64, value) === value : Number.isSafeInteger(value) && value >= 0) {
    return BigInt(value)
  }
  return refuse('uint64', value)
}
