import { CONSTANTS } from '@tenon/core/internal'
import type { WorkerHealth } from './options.ts'
import type { WorkerSlot } from './worker-slot.ts'

const { TN_HOST_CONTROLLING, TN_HOST_PREPARING, TN_HOST_RUNNING, TN_HOST_CALLING_BACK } = CONSTANTS
const PHASES: Readonly<Record<number, WorkerHealth['state']>> = {
  [TN_HOST_CONTROLLING]: 'preparing',
  [TN_HOST_PREPARING]: 'preparing',
  [TN_HOST_RUNNING]: 'running',
  [TN_HOST_CALLING_BACK]: 'calling back',
}

/** Describes the worker of a slot from words that it has written. */
export function healthOf({ index, worker }: WorkerSlot): WorkerHealth {
  if (worker === undefined) return { index, process: 0, state: 'restarting', kernel: undefined, calls: 0 }
  const { process, calls, executions } = worker
  const [current] = executions
  const phase = worker.isReady ? (PHASES[worker.host.memory.phase] ?? 'idle') : 'starting'
  return { index, process, state: phase, kernel: current?.call.kernel.name, calls }
}
