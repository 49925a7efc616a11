import { wrongType } from '@tenon/core/internal'
import { checkForm, checkForms } from '../check-form.ts'
import type { DataLocation } from '../model/model.ts'
import type { PoolFacts } from '@tenon/pools'

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

/** Checks the form of a request that is written by hand. @throws {ArgumentError} if a part is missing. */
export function checkRequestForm(request: Request): void {
  checkForm(request, 'request', ['inputs', 'outputs', 'pools'])
  for (const list of ['inputs', 'outputs'] as const) {
    checkForms(request[list], list, ['dimensions'])
    for (const { location } of request[list])
      if (typeof location !== 'object' || location === null) throw wrongType('location', 'a place in a pool', location)
  }
}
