import { KernelDeadlineError } from 'tenon/isolate'

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
