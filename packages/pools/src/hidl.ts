/** The original names and structures of NNAPI's HIDL interface, converted both ways. */
export { errorStatus } from './error-status.ts'
export { type HidlMemory, poolFromHidl, poolToHidl } from './nnapi/hidl/memory.ts'
export { decodeBufferDescription, encodeBufferDescription } from './memory/buffer-description.ts'
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
} from './nnapi/hidl/model.ts'
export { operationTypes } from './nnapi/model/operation-types.ts'
export { executionFromHidl, executionToHidl, type HidlMemoryPool, type HidlRequest13 } from './nnapi/hidl/request13.ts'
export { decodeNativeHandle, encodeNativeHandle, type NativeHandle } from './nnapi/hidl/native-handle.ts'
