import { checkSize, wrongType } from '../errors/check-arguments.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import type { Segment } from '../memory/segment.ts'
import type { Tensor } from '../types/tensor.ts'
import { StructType } from './struct-type.ts'
import { VALUE_SIZES, type ValueType } from './value-type.ts'

/** What can be passed to a native function and come back. 64-bit integers come back as bigints. */
export type Value = number | bigint | boolean | string | Segment | Tensor | ArrayBufferView | null | undefined

const TYPES = Object.keys(VALUE_SIZES)

/** Returns the type. @throws {ArgumentError} if the value is not a type. */
export function checkType(type: ValueType | StructType): ValueType | StructType {
  if (type instanceof StructType || (typeof type === 'string' && Object.hasOwn(VALUE_SIZES, type))) return type
  throw wrongType('a type', `one of ${TYPES.join(', ')}`, type)
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
      throw new ArgumentError(
        `a variadic argument cannot have the type ${String(type)}, because C passes it as ${wider}`,
        {
          hint: `declare it as ${wider}.`,
        },
      )
    }
  }
}
