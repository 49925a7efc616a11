import { runJob, submitJob, type RunLimits } from '@tenon/core/internal'
import { TensorFlowError } from '../errors/tensorflow-error.ts'
import { openHost } from '../native/host.ts'
import { finish, type Offers, type Run } from './run.ts'

/** Runs a frame on a thread of the core. @throws (rejects with) {TensorFlowError} if the kernel failed */
export function runLater(run: Run, offers: Offers, limits: RunLimits): Promise<unknown[]> {
  const { frame, held } = run
  const { operation, path } = frame.instance.facts
  frame.running = true
  frame.instance.enter()
  const { tn_tf_submit: submit, tn_tf_cancel: cancel } = openHost().functions
  const functions = {
    submit: (id: number, name: number, length: number, job: number) =>
      submit(frame.address, id, name, length, job) as number,
    cancel: (job: number) => cancel(job) as number,
  }
  return runJob(
    {
      held,
      start: (done) => submitJob(operation, functions, done),
      settle: () => finish(run, offers),
      end: (ran) => {
        frame.running = false
        if (!ran) frame.instance.leave()
      },
      late: (deadline) =>
        new TensorFlowError({
          code: 4,
          text: `the call did not end within ${deadline} ms`,
          operation,
          path,
          payloads: {},
        }),
    },
    limits,
  )
}
