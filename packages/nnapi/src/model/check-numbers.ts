import { invalid, isU32 } from '@tenon/pools/internal'
import type { DataLocation } from './model.ts'
import { operandTypes, type OperandType } from './operand-types.ts'

/** The options of `validateModel` and `validateRequest`. */
export interface ValidationOptions {
  /** Whether values must lie at multiples of their elements' size (M11). By default they need not. */
  readonly strictAlignment?: boolean
}

function checkU32(value: unknown, path: string): void {
  if (!isU32(value)) throw invalid('Q20', path, 'must be from 0 to 2^32 - 1', value)
}

export function checkU32s(values: readonly unknown[], path: string): void {
  values.forEach((value, i) => checkU32(value, `${path}[${i}]`))
}

export function checkLocation(location: DataLocation, path: string): void {
  for (const field of ['poolIndex', 'offset', 'length', 'padding'] as const)
    checkU32(location[field], `${path}.location.${field}`)
}

export function checkIndex(rule: string, path: string, index: unknown, count: number): void {
  if (!isU32(index) || index >= count) throw invalid(rule, path, `must be below ${count}`, index)
}

export function checkAligned(type: OperandType, offset: number, path: string, options: ValidationOptions): void {
  const { byteSize } = operandTypes[type]
  if (options.strictAlignment === true && byteSize > 0 && offset % byteSize !== 0)
    throw invalid('M11', `${path}.location.offset`, `must be a multiple of ${byteSize}`, offset)
}
