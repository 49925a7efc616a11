export { array, Attribute, ptr, str, type AttributeContent, type ReadAttributes } from './attributes/attribute.ts'
export { type AttributeDictionary, type AttributeValue } from './attributes/encode-attributes.ts'
export {
  c128,
  c64,
  f32,
  f64,
  pred,
  s16,
  s32,
  s64,
  s8,
  u16,
  u32,
  u64,
  u8,
  type ComplexHelper,
  type TypeHelper,
} from './attributes/helpers.ts'
export { type RunAsyncOptions } from './call/run-later.ts'
export { batch, Batch, type BatchEntry } from './call/batch.ts'
export { BoundCall } from './call/bound-call.ts'
export { type Tensors } from './call/call-target.ts'
export { type Alias } from './shape/alias.ts'
export { type OperandShape, type PrepareOptions, type ResultShape } from './shape/call-shape.ts'
export { type Layouts } from './shape/layouts.ts'
export { type NamedLayouts } from './call/kernel-layouts.ts'
export { Temp, temp, token, type Token } from './shape/leaf.ts'
export { readShapeProto, shapeProto } from './shape/shape-proto.ts'
export { PreparedCall } from './call/prepared-call.ts'
export {
  type CallOptions,
  type CallResults,
  type HostCallOptions,
  type ResultOptions,
  type ResultSpec,
} from './call/listed-arguments.ts'
export { Cuda } from './cuda/cuda.ts'
export { type CudaContext } from './cuda/cuda-context.ts'
export { CudaDevice } from './cuda/cuda-device.ts'
export { CudaError, CudaOutOfMemoryError, CudaUnavailableError, type CudaFailure } from './cuda/cuda-error.ts'
export { CudaEvent } from './cuda/cuda-event.ts'
export { captureGraph, CudaGraph } from './cuda/cuda-graph.ts'
export { CudaKernel, CudaModule } from './cuda/cuda-module.ts'
export { CudaStream } from './cuda/cuda-stream.ts'
export { DeviceMemory } from './cuda/device-memory.ts'
export { type KernelParameter, type LaunchOptions } from './cuda/launch.ts'
export { PinnedMemory } from './cuda/pinned-memory.ts'
export { customCall, hostCall, type CustomCall, type HostCall } from './custom-call.ts'
export { VersionSkewError } from './errors/version-skew-error.ts'
export {
  AbortedError,
  AlreadyExistsError,
  CancelledError,
  DataLossError,
  DeadlineExceededError,
  FailedPreconditionError,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  OutOfRangeError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnauthenticatedError,
  UnavailableError,
  UnimplementedError,
  UnknownError,
  xlaErrorClasses,
  type XlaErrorClass,
} from './errors/xla-error-classes.ts'
export { XlaError, type Stage, type XlaCodeName, type XlaFailure } from './errors/xla-error.ts'
export { type HandlerMetadata } from './native/read-metadata.ts'
export { type Code } from './targets/code.ts'
export {
  TargetRegistry,
  targets,
  type HandlerBundle,
  type LookupOptions,
  type RegistryPrepareOptions,
  type Target,
} from './registry/target-registry.ts'
export { type KernelHandler } from './call/handler-callee.ts'
export { type Kernel, type KernelArgument, type OperandTypes } from './kernel.ts'
export { targetCall, type TargetCall, type TargetCallOptions } from './target-call.ts'
export {
  type KernelAsyncOptions,
  type KernelCallOptions,
  type KernelPrepareOptions,
  type KernelResources,
} from './call/kernel-options.ts'
export { type IsolatedArgument, type IsolatedCallOptions, type IsolatedKernel } from './remote/isolated-kernel.ts'
export { type KernelResults } from './call/kernel-results.ts'
export { type TargetFunction } from './targets/reading-entry.ts'
export { FunctionTarget } from './targets/function-target.ts'
export { refusedNames, registeredNames, type RefusedName, type RegisteredName } from './targets/registered-names.ts'
export { ApiVersion, type UntypedApiVersion } from './targets/api-version.ts'
export { type DeviceStream, type LentData, type ResourceOptions } from './targets/call-resources.ts'
export {
  callProvider,
  offerApi,
  registerType,
  type ApiMinor,
  type HandlerType,
  type TypeSymbols,
} from './targets/handler-type.ts'
export {
  deviceFunction,
  hostFunction,
  registeredFunction,
  UntypedFunction,
  type DeviceFunctionOptions,
  type DevicePlatform,
  type HostFunctionOptions,
  type UntypedOptions,
  type UntypedPrepareOptions,
} from './targets/untyped-function.ts'
export {
  registeredHandler,
  typedHandler,
  TypedHandler,
  type HandlerOptions,
  type HandlerSymbols,
  type TypedPrepareOptions,
} from './targets/typed-handler.ts'
