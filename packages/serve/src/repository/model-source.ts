import type { Model } from '../model/model.ts'
import type { TrafficWeights } from '../service/traffic.ts'

/** The versions of one model that were loaded together. */
export interface LoadedModel {
  readonly models: readonly Model[]
  /** How requests without a version are distributed among the versions. By default, all go to the highest version. */
  readonly traffic?: TrafficWeights
  /** How often a process of its kernels was started again. */
  workerRestarts?(): number
  /** Ends the processes of its kernels. Called once, after the last request. */
  closeAsync(): Promise<void>
}

/** Where a server takes its models from. */
export interface ModelSource {
  /** The names of all models, loaded or not. */
  names(): readonly string[]
  /**
   * Loads a model.
   *
   * @param overrides replace fields of its description, such as `maxBatchSize`.
   * @throws (rejects with) {ModelLoadError} if it cannot be loaded. Nothing stays open then.
   */
  load(name: string, overrides?: ModelOverrides): Promise<LoadedModel>
}

/** What a request to load a model may change: nothing that brings code into the server. */
export interface ModelOverrides {
  readonly maxBatchSize?: number
  readonly instances?: number
  readonly batching?: { readonly preferredBatchSize?: readonly number[]; readonly maxQueueDelayMicroseconds?: number }
}
