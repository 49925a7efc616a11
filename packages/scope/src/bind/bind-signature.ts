import type { FunctionSignature, NativeType } from '../linker/signature.ts'

/** A type of a parameter or result: also a function that returns the signature of a callback. */
export type BindType = NativeType | (() => FunctionSignature)

/** The result and the parameters of a signature, both stated. */
type PlainSignature = Required<Pick<FunctionSignature, 'result' | 'parameters'>>

/** The signature of a function of a module. */
export interface BindSignature {
  readonly result?: BindType | 'void'
  readonly parameters?: readonly BindType[]
  /** Whether any number of arguments may follow. */
  readonly isVariadic?: boolean
  /** Whether the result is an object with `value` and `errno`. */
  readonly errno?: boolean
  /** Whether the function is small, as `DowncallOptions.critical` says. Calls in another process ignore it. */
  readonly critical?: boolean
  /** The names of the parameters in messages, which have their position otherwise. */
  readonly names?: readonly string[] | undefined
}

const plainType = (type: BindType): NativeType => (typeof type === 'function' ? 'pointer' : type)

/** The types of a signature for the linker, which takes a callback as a pointer. */
export const plainSignature = ({ result = 'void', parameters = [] }: BindSignature): PlainSignature => ({
  result: result === 'void' ? result : plainType(result),
  parameters: parameters.map(plainType),
})
