import type { Worker } from 'node:worker_threads'
import type { SharedControl } from './shared-control.ts'

/** The shared scopes that were sent to each worker. */
const sent = new WeakMap<Worker, Set<SharedControl>>()

/** Returns a worker's handles of a shared scope when the worker ends. Each worker gets one listener for all its scopes. */
export function releaseAtExit(worker: Worker, control: SharedControl): void {
  let controls = sent.get(worker)
  if (controls === undefined) {
    sent.set(worker, (controls = new Set()))
    const all = controls
    const { threadId } = worker
    worker.once('exit', () => {
      for (const one of all) one.releaseThread(threadId)
    })
  }
  // A worker may live long, so scopes that are closed for all threads are dropped here.
  for (const one of controls) if (one.isClosed) controls.delete(one)
  controls.add(control)
}
