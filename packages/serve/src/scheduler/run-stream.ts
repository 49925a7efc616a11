import { setImmediate } from 'node:timers/promises'
import type { Model } from '../model/model.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import type { StreamRunner } from '../model/model-function.ts'
import { callLater } from '../service/call-later.ts'
import { Cancellation } from '../service/cancellation.ts'
import { BatchContext, type ScheduledRequest } from './job.ts'
import { limit } from './limit.ts'
import type { RunDeadlines } from './run-deadlines.ts'

/** The time in milliseconds that the `finally` blocks of a generator have after an early end. Then it is left alone. */
const LONGEST_END = 1000

/**
 * Runs a model that answers with a stream. The model goes on when the next element is asked for, and each element may take as long as a run.
 * If the stream ends early, the signal of the model is aborted, and its generator returns.
 */
export async function* runStream(
  model: Model,
  stream: StreamRunner,
  request: ScheduledRequest,
  deadlines: RunDeadlines,
): AsyncGenerator<readonly ModelTensor[], void, undefined> {
  const { cancellation, inputs } = request
  const requests = [{ request }]
  const own = new Cancellation()
  if (cancellation.isCancelled) throw cancellation.reason
  const iterator = stream(inputs, new BatchContext(requests, own))
  let isDone = false
  let hasFailed = false
  try {
    for (;;) {
      if (cancellation.isCancelled) throw cancellation.reason
      const { done, value } = await limit(model, requests, deadlines, own, iterator.next())
      isDone = done === true
      if (isDone) return
      yield value as ModelTensor[]
      // A generator that never waits would keep all others from going on.
      await setImmediate()
    }
  } catch (error) {
    hasFailed = true
    throw error
  } finally {
    if (!isDone) {
      own.cancel(cancellation.reason ?? new Error('the stream has ended'))
      const hasReturned = await endEarly(iterator).catch((error: unknown) => {
        // A failure of the generator is the reason of its end.
        if (!hasFailed) throw error
        return true
      })
      if (request.turn !== undefined) request.turn.isLeftAlone = !hasReturned
    }
  }
}

/**
 * Lets a generator return, and waits for it, but not for ever.
 *
 * @returns whether it has returned. @throws (rejects with) what its `finally` blocks throw.
 */
function endEarly(iterator: AsyncIterator<unknown, unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const takeBack = callLater(() => resolve(false), LONGEST_END)
    Promise.resolve(iterator.return?.())
      .finally(takeBack)
      .then(() => resolve(true), reject)
  })
}
