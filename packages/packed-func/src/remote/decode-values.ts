import { dtypeInfo, dtypes, tensor, Tensor, tensorType, type Device, type DType, type TensorType } from '@tenon/core'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { dataTypeAt, DeviceValue, type DataType } from '../values/scalars.ts'
import { malformed, readMessage } from './message-reader.ts'
import { EXTENSION } from './message-writer.ts'

/** A value that a packed function in another process returned. Arrays and Maps of native code are copied. */
export type RemoteValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | DataType
  | Device
  | Tensor
  | readonly RemoteValue[]
  | ReadonlyMap<RemoteValue, RemoteValue>

/** What values of another process refer to besides their own bytes. The numbers are not trusted. */
export interface TensorReferences {
  /** Returns the operand of an index, or undefined if there is none. */
  operandAt(index: number): Tensor | undefined
  /** Returns the tensor to which a part of a kept value is copied, or undefined if this place has no parts. */
  partAt(index: number, type: TensorType): Tensor | undefined
}

/**
 * Decodes a value that a packed function in another process returned.
 *
 * @throws {RuntimeError} if the bytes are not a value.
 */
export function decodeValue(bytes: Uint8Array, references: TensorReferences): RemoteValue {
  return readMessage(bytes, (type, body) => readExtension(type, body, references)) as RemoteValue
}

/**
 * Decodes a call of a function of this process.
 *
 * @returns the id of the function and the arguments. @throws {RuntimeError} if the bytes are not a call.
 */
export function decodeCallback(
  bytes: Uint8Array,
  references: TensorReferences,
): { readonly id: number; readonly values: readonly RemoteValue[] } {
  const call = decodeValue(bytes, references)
  if (!Array.isArray(call) || call.length !== 2) throw malformed()
  const [id, values] = call as readonly unknown[]
  if (typeof id !== 'number' || !Array.isArray(values)) throw malformed()
  return { id, values: values as readonly RemoteValue[] }
}

function readExtension(type: number, body: DataView, references: TensorReferences): RemoteValue {
  switch (type) {
    case EXTENSION.tensor: {
      const operand = references.operandAt(uint32(body, 0))
      const own = readType(body, 4, sizes(body, 8, (body.byteLength - 8) / 8))
      if (operand === undefined || own.byteSize > operand.segment.byteSize) throw malformed()
      return isSameType(operand.type, own)
        ? operand
        : new Tensor(operand.segment.asSlice(0, own.byteSize), own, operand.device)
    }
    case EXTENSION.shape:
      return sizes(body, 0, body.byteLength / 8)
    case EXTENSION.dtype:
      if (body.byteLength !== 4) throw malformed()
      return dataTypeOf(uint32(body, 0))
    case EXTENSION.device:
      if (body.byteLength !== 8) throw malformed()
      return new DeviceValue(body.getInt32(0, true), body.getInt32(4, true))
    case EXTENSION.part: {
      const own = readType(body, 4, sizes(body, 8, (body.byteLength - 8) / 8))
      return references.partAt(uint32(body, 0), own) ?? refuse()
    }
    case EXTENSION.copy:
      return readCopy(body)
    default:
      throw malformed()
  }
}

function readCopy(body: DataView): Tensor {
  const rank = uint32(body, 4)
  const type = readType(body, 0, sizes(body, 8, rank))
  const start = 8 + 8 * rank
  if (body.byteLength !== start + type.byteSize) throw malformed()
  const made = tensor(type.dtype, type.shape, undefined, { packing: type.packing })
  made.block.bytes.set(new Uint8Array(body.buffer, body.byteOffset + start, type.byteSize), made.base)
  return made
}

const refuse = (): never => {
  throw malformed()
}

function uint32(body: DataView, at: number): number {
  if (at + 4 > body.byteLength) throw malformed()
  return body.getUint32(at, true)
}

function sizes(body: DataView, at: number, count: number): number[] {
  if (!Number.isInteger(count) || count < 0 || at + 8 * count > body.byteLength) throw malformed()
  return Array.from({ length: count }, (_, i) => {
    const size = Number(body.getBigInt64(at + 8 * i, true))
    return Number.isSafeInteger(size) ? size : refuse()
  })
}

const byCode = new Map<number, DType>(dtypes.map(({ dlpack, bits, name }) => [dlpack | (bits << 8) | (1 << 16), name]))

/** Reads an element type. @throws {RuntimeError} for one that Tenon does not have, and for sizes that no tensor has. */
function readType(body: DataView, at: number, shape: readonly number[]): TensorType {
  const dtype = byCode.get(uint32(body, at))
  if (dtype === undefined) throw malformed()
  try {
    return dtypeInfo(dtype).bits < 8 ? tensorType(dtype, shape, { packing: 'packed' }) : tensorType(dtype, shape)
  } catch {
    throw malformed()
  }
}

const isSameType = (type: TensorType, own: TensorType): boolean =>
  type.dtype === own.dtype && type.shape.length === own.shape.length && type.shape.every((n, i) => n === own.shape[i])

/** @throws {RuntimeError} for a type code that DLPack does not have. */
function dataTypeOf(word: number): DataType {
  const stack = openStack()
  return stack.frame(0, (slot) => {
    stack.set(slot, TypeIndex.DataType, word | 0, 0)
    try {
      return dataTypeAt(stack, slot)
    } catch {
      throw malformed()
    }
  })
}
