/** The original names and structures of NNAPI's HIDL interface, converted both ways. */
export { decodeBufferDescription, encodeBufferDescription } from './wire/buffer-description.ts'
export { errorStatus } from '@tenon/pools'
export { type HidlMemory, poolFromHidl, poolToHidl } from './hidl/memory.ts'

export {
  type HidlDataLocation,
  type HidlExtraParams,
  type HidlModel,
  type HidlOperand,
  type HidlOperation,
  type HidlRequest,
  type HidlRequestArgument,
  type HidlSubgraph,
  modelFromHidl,
  modelToHidl,
  requestFromHidl,
  requestToHidl,
} from './hidl/model.ts'
export { operationTypes } from './model/operation-types.ts'
export { executionFromHidl, executionToHidl, type HidlMemoryPool, type HidlRequest13 } from './hidl/request13.ts'
export { decodeNativeHandle, encodeNativeHandle, type NativeHandle } from './hidl/native-handle.ts'
