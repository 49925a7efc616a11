import type { DataLocation } from '../model/model.ts'
import type { PoolFacts } from '../pool/pool-facts.ts'

/** One input or output of an execution. */
export interface RequestArgument {
  /** Whether the operand is left out. Everything else is 0 and empty then. */
  readonly hasNoValue: boolean
  /** The place in the request's pools. Offset, length and padding are 0 for a device buffer. */
  readonly location: DataLocation
  /** The dimensions, if the model leaves some open. For an output they may be empty, and the driver finds them. */
  readonly dimensions: readonly number[]
}

/** An execution as NNAPI's HAL has it, with pools of `P`. */
export interface Request<P extends PoolFacts = PoolFacts> {
  readonly inputs: readonly RequestArgument[]
  readonly outputs: readonly RequestArgument[]
  readonly pools: readonly P[]
}
