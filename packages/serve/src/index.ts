export {
  InvalidRequestError,
  ModelLoadError,
  ModelNotFoundError,
  ModelUnavailableError,
  PipelineStepError,
  RequestTooLargeError,
} from './errors.ts'
export { defineModel, type Model, type ModelOptions } from './model/model.ts'
export type { RequestMemory } from './model/request-memory.ts'
export { type ModelFunction, type ModelStream } from './model/model-function.ts'
export { definePipeline } from './pipeline/pipeline.ts'
export { type ModelTensor } from './model/model-tensor.ts'
export { type TraceContext } from './tracing/trace-context.ts'
export { type RunContext } from './model/run-context.ts'
export { type TensorSpec } from './model/tensor-spec.ts'
export { createServer, type InferenceServer } from './server.ts'
export { type ServerOptions } from './server-options.ts'
export { type FailedRequest, type LogError } from './log/log.ts'
export { type BatchingOptions } from './scheduler/batching-options.ts'
export { ModelRepository } from './repository/model-repository.ts'
export { runUntilSignal, type ServerEnd } from './run-until-signal.ts'
export { type ModelSource } from './repository/model-source.ts'
