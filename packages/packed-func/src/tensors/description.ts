import {
  dtypeInfo,
  dtypes,
  TenonError,
  tensorType,
  type DType,
  type DTypeInfo,
  type Tensor,
  type TensorType,
} from '@tenon/core'
import { CONSTANTS, LAYOUTS, rowMajorStrides } from '@tenon/core/internal'
import { ValueError } from '../errors/error-kinds.ts'
import { TEXT_SIZE, type Stack } from '../native/stack.ts'

export const READ_ONLY_FLAG: number = CONSTANTS.DLPACK_FLAG_BITMASK_READ_ONLY
export const COPIED_FLAG: number = CONSTANTS.DLPACK_FLAG_BITMASK_IS_COPIED
const SUBBYTE_PADDED = CONSTANTS.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED

const { size: HEAD_SIZE, offsets: HEAD } = LAYOUTS.tn_packed_tensor_t

const dlpackType = ({ dlpack, bits }: DTypeInfo): number => dlpack | (bits << 8) | (1 << 16)

/** Whether elements of less than a byte take a byte each, which tvm-ffi refuses. */
export const isPadded = ({ packing, dtype }: TensorType): boolean => packing === 'element' && dtypeInfo(dtype).bits < 8

/** Writes to the text region and returns the address of the description. */
export function writeDescription(stack: Stack, tensor: Tensor, id: number): number {
  const { type, segment, device } = tensor
  const { shape } = type
  const strides = type.strides ?? rowMajorStrides(shape)
  const offset = stack.alignedTextOffset()
  if (HEAD_SIZE + 16 * shape.length > TEXT_SIZE - stack.text) {
    throw new ValueError(`the argument stack has no room for a tensor of ${shape.length} axes`)
  }
  const { bytes } = stack
  const info = dtypeInfo(type.dtype)
  const flags = (segment.readOnly ? READ_ONLY_FLAG : 0) | (isPadded(type) ? SUBBYTE_PADDED : 0)
  bytes.writeBigUInt64LE(BigInt(tensor.address), offset + HEAD.data)
  bytes.writeInt32LE(device.type, offset + HEAD.device_type)
  bytes.writeInt32LE(device.id, offset + HEAD.device_id)
  bytes.writeInt32LE(shape.length, offset + HEAD.ndim)
  bytes.writeUInt32LE(dlpackType(info), offset + HEAD.dtype)
  bytes.writeBigUInt64LE(BigInt(flags), offset + HEAD.flags)
  bytes.writeBigInt64LE(BigInt(id), offset + HEAD.id)
  for (const [axis, size] of [...shape, ...strides].entries()) {
    // The strides of a tensor without elements are never used, and may be too large.
    bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(size)), offset + HEAD_SIZE + axis * 8)
  }
  return stack.address + offset
}

export interface Description {
  readonly address: number
  readonly device: { readonly type: number; readonly id: number }
  readonly readOnly: boolean
  /** The type, or the reason why Tenon does not have it. */
  readonly type: TensorType | string
}

const byCode = new Map<number, DType>(dtypes.map((info) => [dlpackType(info), info.name]))

export function readDescription(stack: Stack): Description {
  const words = Array.from(stack.words.subarray(0, 7), Number)
  const [address = 0, deviceType = 0, deviceId = 0, ndim = 0, dtypeBits = 0, hasStrides, flags = 0] = words
  const shape = stack.outNumbers(ndim)
  const strides = hasStrides === 1 ? stack.outNumbers(ndim, ndim) : undefined
  const dtype = byCode.get(dtypeBits)
  return {
    address,
    device: { type: deviceType, id: deviceId },
    readOnly: (flags & READ_ONLY_FLAG) !== 0,
    type: dtype === undefined ? unknownElements(dtypeBits) : typeOf(dtype, shape, strides),
  }
}

/** The reason for elements of a type that Tenon does not have: a code in the low byte, then 8 bits with the size, and the lanes. */
function unknownElements(dtypeBits: number): string {
  const [code, bits, lanes] = [dtypeBits & 0xff, (dtypeBits >> 8) & 0xff, dtypeBits >>> 16]
  if (lanes !== 1) return `its elements must be single values, got vectors of ${lanes} lanes`
  return `its elements must have a type of Tenon, got ${bits} bits of the type code ${code} of DLPack`
}

function typeOf(dtype: DType, shape: number[], strides: number[] | undefined): TensorType | string {
  const isEmpty = shape.includes(0)
  if (shape.some((n) => n < 0)) return `its sizes must not be negative, got [${shape.join(', ')}]`
  if (!isEmpty && strides?.some((n) => n < 0)) return `its strides must not be negative, got [${strides.join(', ')}]`
  const isPacked = dtypeInfo(dtype).bits < 8
  const rowMajor = rowMajorStrides(shape)
  const isRowMajor =
    isEmpty || strides === undefined || strides.every((stride, axis) => shape[axis]! <= 1 || stride === rowMajor[axis])
  if (isPacked && !isRowMajor)
    return `its elements of less than a byte must be row-major, got strides [${strides.join(', ')}]`
  try {
    return tensorType(dtype, shape, {
      ...(isRowMajor ? {} : { strides: strides! }),
      ...(isPacked ? { packing: 'packed' as const } : {}),
    })
  } catch (error) {
    return `its type must be one of Tenon, but ${error instanceof TenonError ? error.sentence : String(error)}`
  }
}
