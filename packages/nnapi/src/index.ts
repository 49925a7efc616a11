export { type AllocateDescription, type BufferRole, validateAllocate } from './driver/allocate.ts'
export { Burst, type BurstOptions } from './driver/burst.ts'
export { attachDriver } from './client/attach-driver.ts'
export { DeviceBuffer } from './driver/device-buffer.ts'
export type { AsyncRequestOptions, ExecutionResult, Priority, RequestOptions } from './driver/driver.ts'
export { allocateMemory } from './driver/allocate-memory.ts'
export { type AllocateOptions, Driver, PreparedModel, type Role, type RoleOptions } from './driver/driver-client.ts'
export { type ExecutionArguments, OMIT, type RunArguments } from './driver/execution.ts'
export { createFence, Fence, FenceSource, type FenceWaitOptions, importFence } from './driver/fence.ts'
export { FencedExecution, type FencedInfo, type FencedOptions } from './driver/fenced-execution.ts'
export { type DriverOptions, localDriver } from './driver/local-backend.ts'
export { type ServeOptions, serveDriver } from './server/serve-driver.ts'
export type { DriverTotals } from './server/totals.ts'
export {
  connectDriver,
  type ConnectOptions,
  spawnDriver,
  type SpawnOptions,
  type StartOptions,
  workerDriver,
  type WorkerOptions,
} from './client/spawn-driver.ts'
export type { PlacedBuffer } from './engine/placed-buffer.ts'
export type { DriverLimits } from './engine/limits.ts'
export { cpuKernels } from './kernels/cpu-kernels.ts'
export type { Kernel, KernelInput, KernelOperand, KernelPlan, KernelRegistry, NativeStep } from './kernels/kernel.ts'
export {
  BuiltModel,
  buildModel,
  ModelBuilder,
  type ModelOptions,
  type OperandHandle,
  type OutputType,
  type Quantization,
} from './model/build-model.ts'
export type { ConstantValue } from './model/values.ts'
export type {
  ChannelQuantization,
  DataLocation,
  Model,
  Operand,
  OperandLifetime,
  Operation,
  Subgraph,
} from './model/model.ts'
export { type OperandType, operandTypes, type OperandTypeInfo } from './model/operand-types.ts'
export { validateModel } from './model/validate-model.ts'
export type { ValidationOptions } from './model/check-numbers.ts'
export type { FenceStatus } from './link/socket.ts'
export type { Request, RequestArgument } from './request/request.ts'
export { validateRequest } from './request/validate-request.ts'
export { operandSlice } from './request/operand-slice.ts'
