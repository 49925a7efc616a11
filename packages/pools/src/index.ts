export { type AllocateDescription, type BufferRole, validateAllocate } from './nnapi/driver/allocate.ts'
export { Burst, type BurstOptions } from './nnapi/driver/burst.ts'
export { DeviceBuffer } from './nnapi/driver/device-buffer.ts'
export type { AsyncRequestOptions, ExecutionResult, Priority, RequestOptions } from './nnapi/driver/driver.ts'
export {
  allocateMemory,
  type AllocateOptions,
  Driver,
  PreparedModel,
  type Role,
  type RoleOptions,
} from './nnapi/driver/driver-client.ts'
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
export type { CallPriority } from './host/worker-call.ts'
export { type ExecutionArguments, OMIT, type RunArguments } from './nnapi/driver/execution.ts'
export { createFence, Fence, FenceSource, type FenceWaitOptions, importFence } from './nnapi/driver/fence.ts'
export { FencedExecution, type FencedInfo, type FencedOptions } from './nnapi/driver/fenced-execution.ts'
export { type DriverOptions, localDriver } from './nnapi/driver/local-backend.ts'
export { type ServeOptions, serveDriver } from './server/serve-driver.ts'
export type { ByteTotals } from './server/budget.ts'
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
export type { DriverLimits } from './nnapi/engine/limits.ts'
export { type ErrorStatus, errorStatus, type OutputShape, PoolsError } from './error-status.ts'
export { cpuKernels } from './nnapi/kernels/cpu-kernels.ts'
export type {
  Kernel,
  KernelInput,
  KernelOperand,
  KernelPlan,
  KernelRegistry,
  NativeStep,
} from './nnapi/kernels/kernel.ts'
export {
  BuiltModel,
  buildModel,
  ModelBuilder,
  type ModelOptions,
  type OperandHandle,
  type OutputType,
  type Quantization,
} from './nnapi/model/build-model.ts'
export type { ConstantValue } from './nnapi/model/values.ts'
export type {
  ChannelQuantization,
  DataLocation,
  Model,
  Operand,
  OperandLifetime,
  Operation,
  Subgraph,
} from './nnapi/model/model.ts'
export { type OperandType, operandTypes, type OperandTypeInfo } from './nnapi/model/operand-types.ts'
export { validateModel } from './nnapi/model/validate-model.ts'
export type { ValidationOptions } from './nnapi/model/check-numbers.ts'
export { type PoolUsage, poolUsage } from './memory/mapping.ts'
export type { FenceStatus } from './link/socket.ts'
export {
  type BufferDescription,
  type BufferFormat,
  type BufferFormatInfo,
  bufferFormats,
  type BufferUsage,
  bufferUsage,
} from './memory/buffer-description.ts'
export {
  createFrozenPool,
  createImagePool,
  createPool,
  type FilePoolOptions,
  freezePool,
  type ImageOptions,
  openFilePool,
  type PoolOptions,
  shareReadOnly,
} from './memory/create-pool.ts'
export { SharedMemory } from './memory/shared-memory.ts'
export type {
  ArenaOptions,
  ExportOptions,
  HandleOptions,
  MemoryUsage,
  SharedMemoryOptions,
} from './memory/shared-memory-options.ts'
export type { MemoryBacking } from './memory/memory-backing.ts'
export { MemoryExport } from './memory/memory-export.ts'
export type { OpenNamedOptions } from './memory/open-named.ts'
export { ImportedMemory } from './memory/imported-memory.ts'
export type { ChunkHandle, MemoryHandle } from './memory/memory-handle.ts'
export type { TensorLocation } from './memory/tensor-location.ts'
export { MemoryArena } from './memory/memory-arena.ts'
export { ImagePool } from './memory/image-pool.ts'
export { Pool, PoolSlice, type SliceOptions } from './memory/pool.ts'
export type { PoolBacking, PoolFacts, PoolKind, PoolRights } from './memory/pool-facts.ts'
export type { Request, RequestArgument } from './nnapi/request/request.ts'
export { validateRequest } from './nnapi/request/validate-request.ts'
