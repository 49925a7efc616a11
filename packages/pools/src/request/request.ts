import type { DataLocation } from '../model/model.ts'
import type { PoolFacts } from '../pool/pool-facts.ts'

/** One input or output of an execution. */
export interface RequestArgument {
  /** The operand is left out; everything else is 0 and empty then. */
  readonly hasNoValue: boolean
  /** Where in the request's pools. A buffer of the driver has offset, length and padding 0. */
  readonly location: DataLocation
  /** What the model leaves open; empty if it leaves nothing open, or the driver is to find out (outputs). */
  readonly dimensions: readonly number[]
}

/** An execution as NNAPI's HAL has it, with pools of `P`. */
export interface Request<P extends PoolFacts = PoolFacts> {
  readonly inputs: readonly RequestArgument[]
  readonly outputs: readonly RequestArgument[]
  readonly pools: readonly P[]
}
