import { didYouMean } from '@tenon/build/internal'

import type { Constant } from '../model/constant.ts'
import type { BoundConstant } from '../model/model.ts'
import { AnnotationsError } from './annotations-error.ts'

/** The values of annotations, which may be names of constants of the headers. */
export class AnnotatedConstants {
  readonly #constants: readonly BoundConstant[]

  constructor(constants: readonly BoundConstant[]) {
    this.#constants = constants
  }

  /** @throws {AnnotationsError} if there is no such constant. */
  of(path: readonly string[], value: number | boolean | string): Constant {
    if (typeof value === 'boolean') return { kind: 'integer', value: value ? 1n : 0n }
    if (typeof value === 'number')
      return Number.isSafeInteger(value) ? { kind: 'integer', value: BigInt(value) } : { kind: 'real', value }
    const constant = this.#constants.find(({ name }) => name === value)?.constant
    if (constant) return constant
    throw new AnnotationsError(
      path,
      `names the constant ${value}, which the headers do not have`,
      didYouMean(value, new Set(this.#constants.map(({ name }) => name))),
    )
  }

  /** The number of a status. @throws {AnnotationsError} if it is not a number. */
  number(path: readonly string[], value: number | string): number {
    const constant = this.of(path, value)
    if (constant.kind === 'integer' || constant.kind === 'real') return Number(constant.value)
    throw new AnnotationsError(path, `must be a number, got ${value}`)
  }
}
