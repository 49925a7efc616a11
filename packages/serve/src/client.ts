/**
 * A client for servers of the Open Inference Protocol. It loads no native code, so it also runs in browsers.
 *
 * @module
 */
export {
  ArgumentError,
  KernelDeadlineError,
  NativeError,
  ScopeClosedError,
  TenonError,
  UnsupportedError,
} from '@tenon/core/errors'
export { type InferOptions } from './client/call-options.ts'
export { type Client, createClient, type ModelMetadata, type ServerMetadata } from './client/client.ts'
export { type ClientOptions } from './client/client-options.ts'
export { type ClientInputs, type ClientOutputs, type ClientStrings, type ClientTensor } from './client/client-tensor.ts'
export {
  InvalidRequestError,
  ModelNotFoundError,
  ModelUnavailableError,
  PermissionDeniedError,
  ProtocolError,
  RequestTooLargeError,
  UnauthenticatedError,
} from './errors.ts'
