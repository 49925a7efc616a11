import { KernelDeadlineError } from 'tenon/pools'

/** The longest delay of a timer, 24 days. A longer one would end at once. */
const LONGEST = 2 ** 31 - 1

/** The error of a request that was not answered in time. */
export function deadlineError(
  model: string,
  deadline: number,
  stage: 'queued' | 'running' = 'queued',
): KernelDeadlineError {
  const what = stage === 'queued' ? 'waited in the queue' : 'ran'
  return new KernelDeadlineError(`a request of the model ${model} ${what} for more than ${deadline} ms`, {
    details: { kernel: model, deadline, stage },
  })
}

/** Calls a function later. @returns a function that takes the call back. */
export function callLater(run: () => void, milliseconds: number): () => void {
  if (milliseconds > LONGEST) return () => {}
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}
