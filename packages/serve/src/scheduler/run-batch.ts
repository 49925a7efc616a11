import { IsolationError, type NativeAllocator } from '@tenon/core'
import { KernelDeadlineError } from 'tenon/isolate'
import type { Model } from '../model/model.ts'
import { joinTensors, sliceRows, type ModelTensor } from '../model/model-tensor.ts'
import { Cancellation } from '../service/cancellation.ts'
import { closeWhenFree, type RequestMemory } from '../model/request-memory.ts'
import { BatchContext, type Job } from './job.ts'
import { limit } from './limit.ts'
import type { RunDeadlines } from './run-deadlines.ts'

/** Why a run failed. */
interface Failure {
  readonly error: unknown
}

/**
 * Runs requests together and settles each of them. Requests that were lost with a worker run once more, each on its own.
 *
 * @returns undefined if all of them are settled.
 */
export function runBatch(model: Model, jobs: readonly Job[], deadlines: RunDeadlines): Promise<void> | undefined {
  const failure = settle(model, jobs, deadlines)
  return failure === undefined ? undefined : conclude(model, jobs, deadlines, failure)
}

async function conclude(
  model: Model,
  jobs: readonly Job[],
  deadlines: RunDeadlines,
  running: Failure | Promise<Failure | undefined>,
): Promise<void> {
  const failure = await running
  if (failure === undefined) return
  const { error } = failure
  if (!model.idempotent || !isLost(error)) {
    for (const job of jobs) job.reject(error)
    return
  }
  for (const job of jobs) {
    const { isCancelled, reason } = job.request.cancellation
    const again = isCancelled ? { error: reason } : await settle(model, [job], deadlines)
    if (again !== undefined) job.reject(again.error)
  }
}

/** Whether the process of a kernel ended. A kernel that did not end in time would not do so the second time. */
const isLost = (error: unknown): boolean => error instanceof IsolationError && !(error instanceof KernelDeadlineError)

/**
 * Runs requests together. Resolves them, or returns the failure. The outputs of one request lie in its memory, and those of several in
 * memory that is closed with the last of their answers.
 */
function settle(
  model: Model,
  jobs: readonly Job[],
  deadlines: RunDeadlines,
): Failure | undefined | Promise<Failure | undefined> {
  const [first] = jobs as readonly [Job]
  const shared = jobs.length === 1 ? undefined : model.memory?.arena()
  try {
    const inputs = jobs.length === 1 ? first.request.inputs : join(jobs, shared)
    const outputs = runUntilDeadline(model, jobs, deadlines, inputs, shared ?? first.request.memory)
    if (!(outputs instanceof Promise)) return succeed(jobs, outputs, shared)
    return outputs.then((made) => succeed(jobs, made, shared)).catch((error: unknown) => fail(error, shared))
  } catch (error) {
    return fail(error, shared)
  }
}

/** @param shared the memory of the outputs of several requests. */
function succeed(jobs: readonly Job[], outputs: readonly ModelTensor[], shared: RequestMemory | undefined): undefined {
  if (jobs.length === 1) {
    jobs[0]!.resolve({ tensors: outputs, release: doNothing })
    return
  }
  const release = shared === undefined ? doNothing : closeAfter(jobs.length, shared)
  let from = 0
  // All or none of them get their outputs.
  const parts = jobs.map(({ size }) => {
    const [start, end] = [from, (from += size)]
    return outputs.map((output) => sliceRows(output, start, end))
  })
  for (const [i, job] of jobs.entries()) job.resolve({ tensors: parts[i]!, release })
}

function fail(error: unknown, shared: RequestMemory | undefined): Failure {
  if (shared !== undefined) void closeWhenFree(shared)
  return { error: error ?? new Error('the model threw nothing') }
}

/** Closes memory when each of its users has called the result. */
function closeAfter(users: number, memory: RequestMemory): () => void {
  let left = users
  return () => {
    if (--left === 0) void closeWhenFree(memory)
  }
}

function doNothing(): void {}

/** Copies the inputs of all requests behind each other along the first axis. */
function join(jobs: readonly Job[], allocator: NativeAllocator | undefined): ModelTensor[] {
  return jobs[0]!.request.inputs.map((_, i) =>
    joinTensors(
      jobs.map(({ request }) => request.inputs[i]!),
      allocator,
    ),
  )
}

/** Runs a model until its deadline, or until all clients are gone. A function that goes on is left alone, and its result is dropped. */
function runUntilDeadline(
  model: Model,
  jobs: readonly Job[],
  deadlines: RunDeadlines,
  inputs: readonly ModelTensor[],
  memory: RequestMemory | undefined,
): ModelTensor[] | Promise<ModelTensor[]> {
  const own = new Cancellation()
  const made = model.run(inputs, new BatchContext(jobs, own), memory, own)
  // A function that has returned needs no timer.
  return made instanceof Promise ? limit(model, jobs, deadlines, own, made) : made
}
