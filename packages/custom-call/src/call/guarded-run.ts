import { GuardError, Tensor } from '@tenon/core'
import { CONSTANTS, coreFunctions, findDamage, innermostCall, type Gated, type Written } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/**
 * Runs a frame of a kind, one of the constants `TN_XLA_JOB_*`, on this thread.
 *
 * @param name the name of the kernel in profiles. @throws what an upcall stub has thrown meanwhile
 */
export type RunFrame = (kind: number, frame: CallFrame, name: string) => number

/** The first operand of a run, which describes the others: a prepared call, a bound call, or a batch of bound calls. */
interface Runner {
  readonly shape?: { readonly name: string; readonly operandCount: number; readonly names?: readonly string[] }
  readonly bound?: readonly Gated[]
  readonly calls?: readonly Runner[]
  readonly target: { readonly name: string; failure(frame: CallFrame, status: number): Error }
}

/**
 * Finds what a run has written outside of its operands and results, in guard mode.
 *
 * @param held the operands that were held open during the run.
 * @param staged the copies of operands that the run used in their places, by index.
 * @param cause the error of the run, if it failed.
 */
export function findDamageOf(
  held: readonly Gated[],
  staged: CallFrame['staged'],
  cause?: unknown,
): GuardError | undefined {
  const runner = held[0] as unknown as Runner
  for (const call of runner.calls ?? [runner]) {
    // The calls of a batch are prepared or bound; those of a bound call are its own list.
    const list = call.bound ?? held
    const shape = call.shape ?? (list[0] as unknown as Runner).shape!
    const error = findDamage(shape.name, writtenIn(list, shape, staged), cause)
    if (error !== undefined) return error
  }
  return undefined
}

function writtenIn(
  list: readonly Gated[],
  shape: NonNullable<Runner['shape']>,
  staged: CallFrame['staged'],
): Written[] {
  const { operandCount, names } = shape
  return list.slice(FIRST_TENSOR).flatMap((passed, i) => {
    const place = i < operandCount ? `operand ${i}` : `result ${i - operandCount}`
    const name = names?.[i] ?? place
    return [passed, staged?.[i]].flatMap((tensor) => {
      if (!(typeof tensor === 'object' && tensor !== null && Tensor.isGenuine(tensor))) return []
      return { block: tensor.block, address: tensor.address, name }
    })
  })
}

/** Finds whether a run of a typed call has written to its frame, all words of which are written again before the next run. */
function findWrittenFrame({ address }: CallFrame, name: string): GuardError | undefined {
  if (coreFunctions().tn_xla_frame_written(address) === 0) return undefined
  return new GuardError(`${name} wrote to its call frame, which is constant for a kernel`, {
    hint: 'Copy shapes, pointers and attributes into variables of the kernel before it changes them.',
    details: { callee: name, name: 'the call frame' },
  })
}

/**
 * Makes the function that runs calls in guard mode. It throws GuardError after a run that wrote outside of its memory, or to the frame
 * of a typed call.
 */
export function guardedRun(run: RunFrame): RunFrame {
  return (kind, frame, name) => {
    const held = innermostCall()!
    const { target } = held[0] as unknown as Runner
    let status: number
    try {
      status = run(kind, frame, name)
    } catch (error) {
      throw findDamageOf(held, frame.staged, error) ?? error
    }
    const written = kind === CONSTANTS.TN_XLA_JOB_TYPED ? findWrittenFrame(frame, target.name) : undefined
    const error = findDamageOf(held, frame.staged) ?? written
    if (error === undefined) return status
    if (status !== 0) error.cause = target.failure(frame, status)
    throw error
  }
}
