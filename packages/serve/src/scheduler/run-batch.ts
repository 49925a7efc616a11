import { IsolationError, tensor, type NativeAllocator, type Tensor } from '@tenon/core'
import { KernelDeadlineError } from 'tenon/pools'
import type { Model, RequestMemory } from '../model/model.ts'
import { Cancellation } from '../service/cancellation.ts'
import { closeWhenFree } from '../service/close-when-free.ts'
import { callLater, deadlineError } from '../service/deadline.ts'
import type { Job } from './job.ts'

/** Runs requests together and settles each of them. Requests that were lost with a worker run once more, each on its own. */
export async function runBatch(model: Model, jobs: readonly Job[]): Promise<void> {
  const error = await settle(model, jobs)
  if (error === undefined) return
  if (model.idempotent && isLost(error)) {
    for (const job of jobs) {
      const { isCancelled, reason } = job.cancellation
      const again = isCancelled ? reason : await settle(model, [job])
      if (again !== undefined) job.reject(again)
    }
    return
  }
  for (const job of jobs) job.reject(error)
}

/** Whether the process of a kernel ended. A kernel that did not end in time would not do so the second time. */
const isLost = (error: unknown): boolean => error instanceof IsolationError && !(error instanceof KernelDeadlineError)

/** Runs requests together. Resolves them, or returns the error. */
async function settle(model: Model, jobs: readonly Job[]): Promise<{} | undefined> {
  const memory = model.memory?.arena()
  let users = jobs.length
  const release = (): void => {
    if (--users === 0 && memory !== undefined) void closeWhenFree(memory)
  }
  try {
    const inputs = jobs.length === 1 ? jobs[0]!.inputs : join(jobs, memory)
    const outputs = await runUntilDeadline(model, jobs, inputs, memory)
    let from = 0
    for (const job of jobs) {
      const [start, end] = [from, (from += job.size)]
      const tensors = jobs.length === 1 ? outputs : outputs.map((output) => output.slice([start, end]))
      job.resolve({ tensors, release })
    }
    return undefined
  } catch (error) {
    users = 1
    release()
    return error ?? new Error('the model threw nothing')
  }
}

/** Copies the inputs of all requests behind each other along the first axis. */
function join(jobs: readonly Job[], allocator: NativeAllocator | undefined): Tensor[] {
  const size = jobs.reduce((sum, job) => sum + job.size, 0)
  return jobs[0]!.inputs.map((first, i) => {
    const shape = [size, ...first.shape.slice(1)]
    const joined = tensor(first.dtype, shape, undefined, allocator === undefined ? {} : { allocator })
    let at = joined.base
    for (const { inputs } of jobs) {
      const { block, base, type } = inputs[i]!
      joined.block.bytes.set(block.bytes.subarray(base, base + type.byteSize), at)
      at += type.byteSize
    }
    return joined
  })
}

/** Runs a model until its deadline, or until all clients are gone. A function that goes on is left alone, and its result is dropped. */
function runUntilDeadline(
  model: Model,
  jobs: readonly Job[],
  inputs: readonly Tensor[],
  memory: RequestMemory | undefined,
): Promise<Tensor[]> {
  const own = new Cancellation()
  const [{ parameters }] = jobs as readonly [Job]
  const context = {
    parameters,
    get signal() {
      return own.signal
    },
  }
  return new Promise((resolve, reject) => {
    const end = (reason: unknown): void => {
      own.cancel(reason)
      settled()
      reject(reason as Error)
    }
    const gone = (): void => {
      if (jobs.every(({ cancellation }) => cancellation.isCancelled)) end(jobs[0]!.cancellation.reason)
    }
    const takeBack = callLater(() => end(deadlineError(model.name, model.deadline, 'running')), model.deadline)
    const settled = (): void => {
      takeBack()
      for (const { cancellation } of jobs) cancellation.listener = undefined
    }
    for (const { cancellation } of jobs) cancellation.listener = gone
    const settling =
      <Value>(next: (value: Value) => void) =>
      (value: Value): void => {
        settled()
        next(value)
      }
    model.run(inputs, context, memory).then(settling(resolve), settling(reject))
  })
}
