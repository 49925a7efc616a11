import type { CallTrace } from '@tenon/core'
import { CONSTANTS, isTraced, traceLater } from '@tenon/core/internal'
import { traceOf } from './call-traces.ts'
import type { Execution } from './execution.ts'
import type { WorkerCall } from './worker-call.ts'

/** The most calls of a batch that one worker gets at once: a slot for each. */
const GROUP = CONSTANTS.TN_HOST_SLOTS

/** The steps of an asynchronous call, which the calls of a batch take together. */
interface BatchSteps {
  /** Checks a call, and holds its operands. @throws the error of a call that is refused */
  admit<T>(call: WorkerCall<T>, trace: CallTrace | undefined): Execution<T>
  /** Gives a call and its followers to a worker or the queue. */
  submit(execution: Execution): void
  /** Returns the promise of a call that was submitted. */
  outcomeOf<T>(execution: Execution<T>): Promise<T>
}

/** Runs several calls of asynchronous steps. Those that can go to the same worker follow one another, at most a slot for each. */
export async function runBatch<T>(
  calls: readonly WorkerCall<T>[],
  workers: number,
  steps: BatchSteps,
): Promise<PromiseSettledResult<T>[]> {
  const outcomes: (() => Promise<T>)[] = []
  const groups: Execution[][] = []
  const size = Math.min(Math.max(Math.ceil(calls.length / workers), 1), GROUP)
  for (const call of calls) {
    const { execution, outcome } = admitLater(call, steps)
    outcomes.push(outcome)
    if (execution === undefined) continue
    const group = groups.at(-1)
    const first = group?.[0]
    if (group === undefined || group.length === size || !isAlike(first!, execution as Execution)) {
      groups.push([execution as Execution])
    } else {
      group.at(-1)!.follower = execution as Execution
      first!.weight++
      group.push(execution as Execution)
    }
  }
  for (const [first] of groups) steps.submit(first!)
  return Promise.allSettled(outcomes.map((outcome) => outcome()))
}

/** Admits a call of a batch, unless it is refused. Its outcome can be awaited once it was submitted. */
function admitLater<T>(
  call: WorkerCall<T>,
  steps: BatchSteps,
): { readonly execution?: Execution<T>; readonly outcome: () => Promise<T> } {
  let execution: Execution<T> | undefined
  const admit = (trace?: CallTrace): Execution<T> => (execution = steps.admit(call, trace))
  if (!isTraced()) {
    try {
      const admitted = admit()
      return { execution: admitted, outcome: () => steps.outcomeOf(admitted) }
    } catch (error) {
      return { outcome: () => Promise.reject(error as Error) }
    }
  }
  const trace = traceOf(call, true)
  let submit: (outcome: Promise<T>) => void
  const submitted = new Promise<T>((resolve) => (submit = resolve))
  const settled = traceLater(trace, () => {
    admit(trace)
    return submitted
  })
  const outcome = (): Promise<T> => {
    if (execution !== undefined) submit(steps.outcomeOf(execution))
    return settled
  }
  return execution === undefined ? { outcome } : { execution, outcome }
}

/** Whether two calls of a batch can go to the same worker. */
const isAlike = (a: Execution, b: Execution): boolean => a.priority === b.priority && a.workerIndex === b.workerIndex
