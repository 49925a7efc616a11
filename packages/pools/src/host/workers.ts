import type { IsolateHealth, IsolateMetrics, WorkersOptions } from './options.ts'
import type { WorkerCall, WorkerKernel } from './worker-call.ts'

/** The signatures of the workers, so that the packages that use them compile. */
export declare class Workers {
  static open(options?: WorkersOptions): Promise<Workers>
  run<T>(call: WorkerCall<T>): T
  runAsync<T>(call: WorkerCall<T>): Promise<T>
  runBatch<T>(calls: readonly WorkerCall<T>[]): Promise<PromiseSettledResult<T>[]>
  forget(kernel: WorkerKernel): void
  health(): IsolateHealth
  metrics(): IsolateMetrics
  restart(): Promise<void>
  closeAsync(): Promise<void>
  readonly isAlive: boolean
}
