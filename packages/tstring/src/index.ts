export { MalformedTensorError, InvalidTextError, TensorLimitError } from './errors/tstring-errors.ts'
export { rfcAssign, rfcDealloc, rfcMove, type RfcLayout } from './element/rfc.ts'
export {
  tstringAppend,
  tstringAssign,
  tstringAssignView,
  tstringCopy,
  tstringDealloc,
  tstringGetCapacity,
  tstringGetDataPointer,
  tstringGetMutableDataPointer,
  tstringGetSize,
  tstringGetType,
  tstringInit,
  tstringMove,
  tstringReserve,
  tstringReserveAmortized,
  tstringResize,
  type MoveOptions,
} from './element/tstring.ts'
export { hostAbi, type Abi } from './layouts/abi.ts'
export { type Layout, type StringType, type StructLayout } from './layouts/layout.ts'
export { decodeStruct, encodeStruct, type StructFields, type StructOptions } from './layouts/tstring-struct.ts'
export { decodeVarint, encodeVarint, type Varint } from './layouts/varint.ts'
export { type ArrowUtf8, type FromArrowOptions } from './tensor/arrow.ts'
export { type LayoutOptions } from './tensor/convert-to.ts'
export { type MapOptions } from './tensor/file.ts'
export { type FromOptions } from './tensor/from.ts'
export { type OverOptions, type Validation } from './tensor/over.ts'
export { type Storage } from './tensor/parts.ts'
export { type PreallocateOptions } from './tensor/preallocate.ts'
export { StringElements, type TextOptions, type ToArrayOptions } from './tensor/string-elements.ts'
export { StringTensor } from './tensor/string-tensor.ts'
export { type InvalidText } from './text/decode.ts'
export { type Text } from './text/encode.ts'
