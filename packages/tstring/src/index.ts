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
  type MoveOptions,
} from './element/tstring.ts'
export { hostAbi, type Abi } from './layouts/abi.ts'
export { type Layout, type RfcLayout, type StringType, type StructLayout } from './layouts/layout.ts'
export { decodeStruct, encodeStruct, type StructFields, type StructOptions } from './layouts/tstring-struct.ts'
export { decodeVarint, encodeVarint, type Varint } from './layouts/varint.ts'
export { type ArrowUtf8, type OfArrowOptions } from './tensor/arrow.ts'
export { type ArrowUtf8View } from './tensor/arrow-view.ts'
export { type ArrowNulls, type ValidityOptions } from './tensor/validity.ts'
export { type LayoutOptions } from './tensor/convert-to.ts'
export { type OpenOptions } from './tensor/file.ts'
export { type FromOptions } from './tensor/from.ts'
export { type OfCapacityOptions } from './tensor/of-capacity.ts'
export { type OfSegmentOptions, type Validation } from './tensor/of-segment.ts'
export { type Storage } from './tensor/parts.ts'
export { StringElements, type ToArrayOptions } from './tensor/string-elements.ts'
export { StringTensor } from './tensor/string-tensor.ts'
export { type InvalidText, type TextOptions } from './text/decode.ts'
export { type Text } from './text/encode.ts'
