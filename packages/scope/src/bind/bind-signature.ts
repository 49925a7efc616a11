import type { FunctionSignature, NativeType } from '../linker/signature.ts'

/** A type of a parameter or result: also a function that returns the signature of a callback. */
export type BindType = NativeType | (() => FunctionSignature)

/** The signature of a function of a module. */
export interface BindSignature {
  readonly result?: BindType | 'void'
  readonly parameters?: readonly BindType[]
  /** Whether any number of arguments may follow. */
  readonly isVariadic?: boolean
  /** Whether the result is an object with `value` and `errno`. */
  readonly errno?: boolean
}
