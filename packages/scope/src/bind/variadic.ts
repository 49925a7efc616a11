import type { ValueType } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'
import { Struct } from './struct.ts'

/** An argument after the declared ones, with the type that C's promotions give it. */
export interface VariadicArgument {
  readonly type: ValueType | 'text'
  readonly value: unknown
}

/**
 * The type of a variadic argument: a whole number is an `int`, another number a `double`, a bigint an `int64_t`, text and memory are
 * pointers. A pair `['uint64', 5]` states the type.
 *
 * @throws {ArgumentError} for another value
 */
export function variadicType(value: unknown): VariadicArgument {
  if (Array.isArray(value) && value.length === 2) return { type: value[0] as ValueType, value: value[1] }
  if (typeof value === 'string') return { type: 'text', value }
  if (typeof value === 'bigint') return { type: 'int64', value }
  if (typeof value === 'boolean') return { type: 'int32', value: value ? 1 : 0 }
  if (typeof value === 'number')
    return { type: Number.isInteger(value) && !Object.is(value, -0) ? 'int32' : 'float64', value }
  if (value === null || value instanceof MemorySegment || value instanceof Struct || ArrayBuffer.isView(value))
    return { type: 'pointer', value }
  throw wrongType('a variadic argument', 'a number, bigint, boolean, string, segment, null, or [type, value]', value)
}
