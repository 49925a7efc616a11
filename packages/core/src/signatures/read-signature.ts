import type { DType } from '../types/dtype.ts'
import type { AttributeParameter, KernelSignature } from './kernel-signature.ts'
import type { ReadParameter } from './parse-parameter.ts'
import type { Token } from './tokens.ts'

/** An attribute and the place of its name. */
export interface ReadAttribute {
  readonly attribute: AttributeParameter
  readonly token: Token
}

/** The element types of a variable, as a condition lists them. */
export interface ReadVariable {
  readonly token: Token
  readonly dtypes: readonly DType[]
}

/** The clauses of a signature, before their names are checked. */
export interface ReadClauses extends Pick<KernelSignature, 'conditions' | 'stages' | 'isAsync' | 'doc'> {
  readonly attributes: readonly ReadAttribute[]
  /** The names in the conditions. */
  readonly conditionSizes: readonly Token[]
  readonly variables: readonly ReadVariable[]
  readonly temps: readonly ReadParameter[]
  readonly packed: { readonly token: Token; readonly names: readonly Token[] } | undefined
}

/** A signature as it was read, before its names are checked. */
export interface ReadSignature extends ReadClauses, Pick<KernelSignature, 'name' | 'convention' | 'source'> {
  readonly operands: readonly ReadParameter[]
  readonly results: readonly ReadParameter[]
}
