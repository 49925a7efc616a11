import type { Constant } from './constant.ts'

/** A handle that a call makes of a pointer. */
export interface HandlePlan {
  /** The class in the module. */
  readonly className: string
  /** The function that closes the object: one of the table of the call, or of the module. */
  readonly close: string
  /** The parameter that is the object within which this one lives. */
  readonly within?: number
  readonly isEvenOnError: boolean
  readonly isFinalized: boolean
}

/** How a value of C becomes a result. */
export interface ValuePlan {
  readonly form: 'plain' | 'text' | 'pointer' | 'number' | 'handle'
  /** The function that frees a text. */
  readonly free?: string
  readonly isNullable: boolean
  readonly isNonnull: boolean
  readonly handle?: HandlePlan
}

/** The role of a parameter of C in a call. `of` is the index of the parameter whose elements are counted. */
export type ParameterRole =
  | {
      readonly kind: 'argument'
      /** The type of a pointer to characters, if it is not the declared one. */
      readonly as?: 'text' | 'pointer'
      readonly isNonnull: boolean
      /** The parameter to which C can write a pointer into this text, or `result` if it returns one that the caller keeps. */
      readonly keptBy?: number | 'result'
    }
  | { readonly kind: 'out'; readonly value: ValuePlan; readonly of?: number }
  | { readonly kind: 'struct'; readonly id: string }
  | { readonly kind: 'inout'; readonly of?: number }
  | { readonly kind: 'length'; readonly of: number }
  /** The same value in every call. */
  | { readonly kind: 'constant'; readonly constant: Constant }
  | {
      readonly kind:
        | 'omit'
        | 'resultLength'
        | 'texts'
        | 'pointers'
        | 'callback'
        | 'retained'
        | 'taken'
        /** A handle, of whose pointer C takes the address. */
        | 'takenAddress'
    }

/** How a module calls a function that has annotations. */
export interface CallPlan {
  readonly parameters: readonly ParameterRole[]
  readonly value: ValuePlan
  /** Whether the caller does not get the value that C returns. */
  readonly omitsValue: boolean
  readonly isAsync: boolean
  readonly errno: boolean
  /** Whether the function runs on the stack of JavaScript. */
  readonly isCritical: boolean
  /** Whether the value is a status, and whose failure the library explains. */
  readonly status?: {
    readonly subject?: number
    /** The class of the object within which the subject lives, if the library explains the failures of that. */
    readonly subjectParent?: string
    /** The statuses without a result. */
    readonly none?: readonly number[]
  }
}

/** A class of handles. */
export interface BoundHandle {
  readonly className: string
  /** The struct to which the pointer points. */
  readonly type: string
}

/** The statuses that functions return. */
export interface StatusPlan {
  readonly success?: readonly number[]
  readonly atLeast?: number
  readonly message?: {
    readonly function: string
    readonly takesSubject: boolean
    /** The struct whose member is the text. */
    readonly member?: { readonly type: string; readonly name: string }
  }
  readonly otherwise?: string
  readonly code?: string
  readonly release?: string
}
