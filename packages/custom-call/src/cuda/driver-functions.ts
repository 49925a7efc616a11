import type { NativeLibrary } from '@tenon/core'
import { functionAt, type PlainFunction } from '@tenon/core/internal'

const DIM3 = ['uint32', 'uint32', 'uint32'] as const

/**
 * The functions of the driver, with their names in libcuda, which exports the `cuMemAlloc` of cuda.h as `cuMemAlloc_v2`.
 * All return a CUresult. Handles, device pointers and sizes are 64 bits wide.
 */
const SIGNATURES = {
  init: ['cuInit', 'uint32'],
  driverGetVersion: ['cuDriverGetVersion', 'uint64'],
  getErrorName: ['cuGetErrorName', 'int32', 'uint64'],
  getErrorString: ['cuGetErrorString', 'int32', 'uint64'],
  deviceGetCount: ['cuDeviceGetCount', 'uint64'],
  deviceGet: ['cuDeviceGet', 'uint64', 'int32'],
  deviceGetName: ['cuDeviceGetName', 'uint64', 'int32', 'int32'],
  deviceGetAttribute: ['cuDeviceGetAttribute', 'uint64', 'int32', 'int32'],
  primaryCtxRetain: ['cuDevicePrimaryCtxRetain', 'uint64', 'int32'],
  primaryCtxRelease: ['cuDevicePrimaryCtxRelease_v2', 'int32'],
  ctxSetCurrent: ['cuCtxSetCurrent', 'uint64'],
  memGetInfo: ['cuMemGetInfo_v2', 'uint64', 'uint64'],
  memAlloc: ['cuMemAlloc_v2', 'uint64', 'uint64'],
  memFree: ['cuMemFree_v2', 'uint64'],
  memAllocAsync: ['cuMemAllocAsync', 'uint64', 'uint64', 'uint64'],
  memFreeAsync: ['cuMemFreeAsync', 'uint64', 'uint64'],
  memHostRegister: ['cuMemHostRegister_v2', 'uint64', 'uint64', 'uint32'],
  memHostUnregister: ['cuMemHostUnregister', 'uint64'],
  memcpyHtoD: ['cuMemcpyHtoDAsync_v2', 'uint64', 'uint64', 'uint64', 'uint64'],
  memcpyDtoH: ['cuMemcpyDtoHAsync_v2', 'uint64', 'uint64', 'uint64', 'uint64'],
  memcpyDtoD: ['cuMemcpyDtoDAsync_v2', 'uint64', 'uint64', 'uint64', 'uint64'],
  memset: ['cuMemsetD8Async', 'uint64', 'uint8', 'uint64', 'uint64'],
  streamCreate: ['cuStreamCreate', 'uint64', 'uint32'],
  streamDestroy: ['cuStreamDestroy_v2', 'uint64'],
  streamSynchronize: ['cuStreamSynchronize', 'uint64'],
  streamQuery: ['cuStreamQuery', 'uint64'],
  streamWaitEvent: ['cuStreamWaitEvent', 'uint64', 'uint64', 'uint32'],
  streamBeginCapture: ['cuStreamBeginCapture_v2', 'uint64', 'int32'],
  streamEndCapture: ['cuStreamEndCapture', 'uint64', 'uint64'],
  launchHostFunc: ['cuLaunchHostFunc', 'uint64', 'uint64', 'uint64'],
  eventCreate: ['cuEventCreate', 'uint64', 'uint32'],
  eventDestroy: ['cuEventDestroy_v2', 'uint64'],
  eventRecord: ['cuEventRecord', 'uint64', 'uint64'],
  eventQuery: ['cuEventQuery', 'uint64'],
  eventSynchronize: ['cuEventSynchronize', 'uint64'],
  // The first version, which every driver has. The name of cuda.h 12.8 means a second version that does the same.
  eventElapsedTime: ['cuEventElapsedTime', 'uint64', 'uint64', 'uint64'],
  moduleLoadData: ['cuModuleLoadData', 'uint64', 'uint64'],
  moduleUnload: ['cuModuleUnload', 'uint64'],
  moduleGetFunction: ['cuModuleGetFunction', 'uint64', 'uint64', 'uint64'],
  launchKernel: ['cuLaunchKernel', 'uint64', ...DIM3, ...DIM3, 'uint32', 'uint64', 'uint64', 'uint64'],
  graphInstantiate: ['cuGraphInstantiateWithFlags', 'uint64', 'uint64', 'uint64'],
  graphLaunch: ['cuGraphLaunch', 'uint64', 'uint64'],
  graphDestroy: ['cuGraphDestroy', 'uint64'],
  graphExecDestroy: ['cuGraphExecDestroy', 'uint64'],
} as const satisfies Readonly<
  Record<string, readonly [symbol: string, ...parameters: Parameters<typeof functionAt>[2]]>
>

/** @internal A function of the driver, by its name without prefix and version. */
export type DriverFunctionName = keyof typeof SIGNATURES

/** @internal The functions of a loaded driver, which take numbers and return a CUresult. */
export type DriverFunctions = Readonly<Record<DriverFunctionName, PlainFunction>>

/** @internal Declares the functions of a driver. @throws {LoadError} naming the first one that it does not export. */
export function declareDriver(library: NativeLibrary): DriverFunctions {
  const declared = Object.entries(SIGNATURES).map(([name, [symbol, ...parameters]]) => [
    name,
    functionAt(Number(library.symbol(symbol)), 'int32', parameters),
  ])
  return Object.fromEntries(declared) as DriverFunctions
}

/** @internal Returns the address of a function, for C. */
export function driverAddress(library: NativeLibrary, name: DriverFunctionName): number {
  return Number(library.symbol(SIGNATURES[name][0]))
}
