import { describe } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { RValue, TensorView } from './wrappers.ts'

/** Refuses results that only arguments can be. @throws {PackedFuncTypeError} */
export function refuseLent(result: unknown): void {
  if (result instanceof RValue || result instanceof TensorView) {
    throw new PackedFuncTypeError('TypeError', `a function can't return ${describe(result)}: it is only lent to calls`)
  }
}
