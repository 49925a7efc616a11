import type { Worker } from 'node:worker_threads'
import type { SharedControl } from './shared-control.ts'

/** The scopes that each worker was given. */
const given = new WeakMap<Worker, Set<SharedControl>>()

/** Gives back what a worker holds of a shared scope when it ends. One listener a worker, however many scopes it gets. */
export function releaseAtExit(worker: Worker, control: SharedControl): void {
  let controls = given.get(worker)
  if (controls === undefined) {
    given.set(worker, (controls = new Set()))
    const all = controls
    const { threadId } = worker
    worker.once('exit', () => {
      for (const one of all) one.releaseThread(threadId)
    })
  }
  // A worker may live long: what is closed for all needs nobody any more.
  for (const one of controls) if (one.isClosed) controls.delete(one)
  controls.add(control)
}
