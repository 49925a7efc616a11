export { CrashLoopError, KernelCrashError, KernelMemoryError, WorkerLostError } from './host/errors.ts'
export { KernelDeadlineError } from '@tenon/core'
export type {
  IsolateHealth,
  IsolateMetrics,
  RestartOptions,
  TimeHistogram,
  WorkerHealth,
  WorkerMetrics,
  WorkersOptions,
} from './host/options.ts'
export type { CallPriority, IsolatedRunOptions } from '@tenon/core/internal'
export type { IsolateOptions } from './isolate-options.ts'
