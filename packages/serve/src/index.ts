export {
  InvalidRequestError,
  ModelLoadError,
  ModelNotFoundError,
  ModelUnavailableError,
  RequestTooLargeError,
} from './errors.ts'
export { type GrpcOptions } from './grpc/grpc-server.ts'
export { type HttpOptions } from './http/http-server.ts'
export { defineModel, type Model, type ModelFunction, type ModelOptions, type RequestMemory } from './model/model.ts'
export { type ModelTensor } from './model/model-tensor.ts'
export { type TraceContext } from './tracing/trace-context.ts'
export { type ParameterValue, type RunContext } from './model/run-context.ts'
export { type TensorSpec } from './model/tensor-spec.ts'
export { createServer, type InferenceServer, type ServerOptions } from './server.ts'
export { type BatchingOptions, type QueuePolicy } from './scheduler/batching-options.ts'
export { ModelRepository } from './repository/model-repository.ts'
export { type RunOptions, runUntilSignal, type ServerEnd } from './run-until-signal.ts'
export { type LogError } from './service/server-state.ts'
export { type LoadedModel, type ModelOverrides, type ModelSource } from './repository/model-source.ts'
