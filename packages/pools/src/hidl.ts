/** The original names and structures of NNAPI's HIDL interface, converted both ways. */
export { errorStatus } from './error-status.ts'
export { type HidlMemory, poolFromHidl, poolToHidl } from './hidl/memory.ts'
export {
  type HidlDataLocation,
  type HidlModel,
  type HidlOperand,
  type HidlOperation,
  type HidlRequest,
  type HidlRequestArgument,
  type HidlSubgraph,
  modelFromHidl,
  modelToHidl,
  operationTypes,
  requestFromHidl,
  requestToHidl,
} from './hidl/model.ts'
export { decodeNativeHandle, encodeNativeHandle, type NativeHandle } from './hidl/native-handle.ts'
