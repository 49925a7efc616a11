export { array, Attribute, str } from './attributes/attribute.ts'
export { type AttributeDictionary, type AttributeValue } from './attributes/encode-attributes.ts'
export { f32, f64, pred, s16, s32, s64, s8, u16, u32, u64, u8, type TypeHelper } from './attributes/helpers.ts'
export { BoundCall } from './call/bound-call.ts'
export { type Tensors } from './call/call-target.ts'
export { type Alias } from './shape/alias.ts'
export { type OperandShape, type PrepareOptions, type ResultShape } from './shape/call-shape.ts'
export { Temp, temp, token, type Token } from './shape/leaf.ts'
export { PreparedCall } from './call/prepared-call.ts'
export {
  type CallOptions,
  type CallResults,
  type HostCallOptions,
  type ResultOptions,
  type ResultSpec,
} from './call/call-function.ts'
export { customCall, hostCall, type CustomCall, type HostCall } from './custom-call.ts'
export { VersionSkewError } from './errors/version-skew-error.ts'
export { type XlaCodeName } from './errors/xla-codes.ts'
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
export { XlaError, type Stage, type XlaFailure } from './errors/xla-error.ts'
export { type HandlerMetadata } from './native/read-metadata.ts'
export { type Code } from './registry/code.ts'
export {
  TargetRegistry,
  targets,
  type HandlerBundle,
  type LookupOptions,
  type RegistryPrepareOptions,
  type Target,
  type TypedOptions,
  type UntypedOptions,
} from './registry/target-registry.ts'
export {
  FunctionTarget,
  type FunctionSignature,
  type TargetFunction,
  type TensorsOf,
} from './targets/function-target.ts'
export { ApiVersion, type UntypedApiVersion } from './targets/api-version.ts'
export {
  deviceFunction,
  hostFunction,
  UntypedFunction,
  type DeviceFunctionOptions,
  type DevicePlatform,
  type HostFunctionOptions,
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
