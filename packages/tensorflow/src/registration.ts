/** A constraint of a kernel: the attribute must be one of these types, which are numbers of `TF_DataType`. */
export interface TypeConstraint {
  readonly attribute: string
  readonly types: readonly number[]
}

/** A kernel as a library registered it. */
export interface RegisteredKernel {
  readonly operation: string
  readonly device: string
  readonly label: string
  readonly priority: number
  readonly constraints: readonly TypeConstraint[]
  /** The number of the kernel in this process. */
  readonly index: number
}

/** The definition of an operation as a library wrote it. */
export interface DefinitionText {
  readonly name: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: readonly string[]
}

/** What a library registered, and the definitions of all operations of this process. */
export interface Registrations {
  readonly kernels: readonly RegisteredKernel[]
  readonly definitions: readonly DefinitionText[]
}
