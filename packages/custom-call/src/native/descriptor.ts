import { dtypeInfo, type TensorType } from '@tenon/core'
import { encodeAttributes, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { ByteWriter } from './byte-writer.ts'

/** The addresses of a target's handlers by stage; 0 for none. */
export interface HandlerAddresses {
  readonly instantiate: number
  readonly prepare: number
  readonly initialize: number
  readonly execute: number
}

/** What the frame builder of the C core is told of a call. */
export interface CallDescription {
  /** The minor version of XLA FFI whose function table the handlers are given. */
  readonly minor: number
  readonly handlers: HandlerAddresses
  readonly operands: readonly TensorType[]
  readonly results: readonly TensorType[]
  readonly attributes: AttributeDictionary
}

const MAGIC = 0x31465854
const UNKNOWN_DEVICE = -1

/**
 * Encodes a call for `tn_xla_frame_build` (the layout is described in the core's xla_frame.c).
 *
 * @throws {ArgumentError} if an attribute can't be passed.
 */
export function encodeDescriptor({ minor, handlers, operands, results, attributes }: CallDescription): Uint8Array {
  const writer = new ByteWriter()
  for (const word of [MAGIC, minor, operands.length, results.length]) writer.u32(word)
  const attributeCount = writer.reserve(4)
  writer.u32(UNKNOWN_DEVICE)
  const { instantiate, prepare, initialize, execute } = handlers
  for (const address of [instantiate, prepare, initialize, execute]) writer.u64(address)
  for (const { dtype, shape } of [...operands, ...results]) {
    writer.u32(dtypeInfo(dtype).xla)
    writer.u32(shape.length)
    for (const size of shape) writer.u64(size)
  }
  writer.patchU32(attributeCount, encodeAttributes(writer, attributes))
  return writer.toBytes()
}
