export interface TypeConstraint {
  readonly attribute: string
  readonly types: readonly number[]
}

export interface RegisteredKernel {
  readonly operation: string
  readonly device: string
  readonly label: string
  readonly priority: number
  readonly constraints: readonly TypeConstraint[]
  readonly index: number
}

export interface DefinitionText {
  readonly name: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: readonly string[]
}

export interface Registrations {
  readonly kernels: readonly RegisteredKernel[]
  readonly definitions: readonly DefinitionText[]
}
