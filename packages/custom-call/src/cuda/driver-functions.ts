import type { NativeLibrary } from '@tenon/core'
import { functionAt, type CFunction, type CType } from '@tenon/core/internal'

const DIM3 = ['uint32_t', 'uint32_t', 'uint32_t'] as const

/**
 * The functions of the driver, with their names in libcuda, which exports the `cuMemAlloc` of cuda.h as `cuMemAlloc_v2`.
 * All return a CUresult. Handles, device pointers and sizes are 64 bits wide.
 */
const SIGNATURES = {
  init: ['cuInit', 'uint32_t'],
  driverGetVersion: ['cuDriverGetVersion', 'uintptr_t'],
  getErrorName: ['cuGetErrorName', 'int32_t', 'uintptr_t'],
  getErrorString: ['cuGetErrorString', 'int32_t', 'uintptr_t'],
  deviceGetCount: ['cuDeviceGetCount', 'uintptr_t'],
  deviceGet: ['cuDeviceGet', 'uintptr_t', 'int32_t'],
  deviceGetName: ['cuDeviceGetName', 'uintptr_t', 'int32_t', 'int32_t'],
  deviceGetAttribute: ['cuDeviceGetAttribute', 'uintptr_t', 'int32_t', 'int32_t'],
  primaryCtxRetain: ['cuDevicePrimaryCtxRetain', 'uintptr_t', 'int32_t'],
  primaryCtxRelease: ['cuDevicePrimaryCtxRelease_v2', 'int32_t'],
  ctxSetCurrent: ['cuCtxSetCurrent', 'uintptr_t'],
  memGetInfo: ['cuMemGetInfo_v2', 'uintptr_t', 'uintptr_t'],
  memAlloc: ['cuMemAlloc_v2', 'uintptr_t', 'uintptr_t'],
  memFree: ['cuMemFree_v2', 'uintptr_t'],
  memAllocAsync: ['cuMemAllocAsync', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  memFreeAsync: ['cuMemFreeAsync', 'uintptr_t', 'uintptr_t'],
  memHostRegister: ['cuMemHostRegister_v2', 'uintptr_t', 'uintptr_t', 'uint32_t'],
  memHostUnregister: ['cuMemHostUnregister', 'uintptr_t'],
  memcpyHtoD: ['cuMemcpyHtoDAsync_v2', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  memcpyDtoH: ['cuMemcpyDtoHAsync_v2', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  memcpyDtoD: ['cuMemcpyDtoDAsync_v2', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  memset: ['cuMemsetD8Async', 'uintptr_t', 'uint8_t', 'uintptr_t', 'uintptr_t'],
  streamCreate: ['cuStreamCreate', 'uintptr_t', 'uint32_t'],
  streamDestroy: ['cuStreamDestroy_v2', 'uintptr_t'],
  streamSynchronize: ['cuStreamSynchronize', 'uintptr_t'],
  streamQuery: ['cuStreamQuery', 'uintptr_t'],
  streamWaitEvent: ['cuStreamWaitEvent', 'uintptr_t', 'uintptr_t', 'uint32_t'],
  streamBeginCapture: ['cuStreamBeginCapture_v2', 'uintptr_t', 'int32_t'],
  streamEndCapture: ['cuStreamEndCapture', 'uintptr_t', 'uintptr_t'],
  launchHostFunc: ['cuLaunchHostFunc', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  eventCreate: ['cuEventCreate', 'uintptr_t', 'uint32_t'],
  eventDestroy: ['cuEventDestroy_v2', 'uintptr_t'],
  eventRecord: ['cuEventRecord', 'uintptr_t', 'uintptr_t'],
  eventQuery: ['cuEventQuery', 'uintptr_t'],
  eventSynchronize: ['cuEventSynchronize', 'uintptr_t'],
  // The first version, which every driver has. The name of cuda.h 12.8 means a second version that does the same.
  eventElapsedTime: ['cuEventElapsedTime', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  moduleLoadData: ['cuModuleLoadData', 'uintptr_t', 'uintptr_t'],
  moduleUnload: ['cuModuleUnload', 'uintptr_t'],
  moduleGetFunction: ['cuModuleGetFunction', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  launchKernel: ['cuLaunchKernel', 'uintptr_t', ...DIM3, ...DIM3, 'uint32_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'],
  graphInstantiate: ['cuGraphInstantiateWithFlags', 'uintptr_t', 'uintptr_t', 'uint64_t'],
  graphLaunch: ['cuGraphLaunch', 'uintptr_t', 'uintptr_t'],
  graphDestroy: ['cuGraphDestroy', 'uintptr_t'],
  graphExecDestroy: ['cuGraphExecDestroy', 'uintptr_t'],
} as const satisfies Readonly<Record<string, readonly [symbol: string, ...parameters: CType[]]>>

/** @internal A function of the driver, by its name without prefix and version. */
export type DriverFunctionName = keyof typeof SIGNATURES

/** @internal The functions of a loaded driver, which take numbers and return a CUresult. */
export type DriverFunctions = Readonly<Record<DriverFunctionName, CFunction>>

/** @internal Declares the functions of a driver. @throws {LoadError} naming the first one that it does not export. */
export function declareDriver(library: NativeLibrary): DriverFunctions {
  const declared = Object.entries(SIGNATURES).map(([name, [symbol, ...parameters]]) => [
    name,
    functionAt(Number(library.symbol(symbol)), 'int32_t', parameters),
  ])
  return Object.fromEntries(declared) as DriverFunctions
}

/** @internal Returns the address of a function, for C. */
export function driverAddress(library: NativeLibrary, name: DriverFunctionName): number {
  return Number(library.symbol(SIGNATURES[name][0]))
}
