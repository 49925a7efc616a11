export { MalformedTensorError, InvalidTextError, TensorLimitError } from './errors/tstring-errors.ts'
export { rfcAssign, rfcDealloc, rfcMove } from './element/rfc.ts'
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
} from './element/tstring.ts'
export { hostAbi, type Abi } from './layouts/abi.ts'
export { type Layout } from './layouts/layout.ts'
export { decodeStruct, encodeStruct } from './layouts/tstring-struct.ts'
export { decodeVarint, encodeVarint, type Varint } from './layouts/varint.ts'
export { type ArrowUtf8 } from './tensor/arrow.ts'
export { type ArrowUtf8View } from './tensor/arrow-view.ts'
export { type OpenOptions } from './tensor/file.ts'
export { type OfSegmentOptions } from './tensor/of-segment.ts'
export { StringElements } from './tensor/string-elements.ts'
export { StringTensor } from './tensor/string-tensor.ts'
export { type Text } from './text/encode.ts'
