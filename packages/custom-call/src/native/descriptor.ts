import { dtypeInfo } from '@tenon/core'
import { encodeAttributes, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import { Temp, token, type Leaf, type Token } from '../shape/leaf.ts'
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
  /** The number of the device; -1 if it is unknown. */
  readonly deviceOrdinal: number
  readonly handlers: HandlerAddresses
  readonly operands: readonly Leaf[]
  readonly results: readonly Leaf[]
  readonly attributes: AttributeDictionary
}

const MAGIC = 0x31465854
/** The XLA type of tokens. */
const TOKEN = 17

/**
 * Encodes a call for `tn_xla_frame_build` (the layout is described in the core's `csrc/xla/frame.c`).
 *
 * @throws {ArgumentError} if an attribute can't be passed.
 */
export function encodeDescriptor({
  minor,
  deviceOrdinal,
  handlers,
  operands,
  results,
  attributes,
}: CallDescription): Uint8Array {
  const writer = new ByteWriter()
  for (const word of [MAGIC, minor, operands.length, results.length]) writer.u32(word)
  const attributeCount = writer.reserve(4)
  writer.u32(deviceOrdinal)
  const { instantiate, prepare, initialize, execute } = handlers
  for (const address of [instantiate, prepare, initialize, execute]) writer.u64(address)
  for (const leaf of [...operands, ...results]) encodeBuffer(writer, leaf)
  writer.patchU32(attributeCount, encodeAttributes(writer, attributes))
  return writer.toBytes()
}

function encodeBuffer(writer: ByteWriter, leaf: Leaf): void {
  const type = leaf instanceof Temp ? leaf.type : leaf
  const [code, shape] = isToken(type) ? [TOKEN, []] : [dtypeInfo(type.dtype).xla, type.shape]
  writer.u32(code)
  writer.u32(shape.length)
  for (const size of shape) writer.u64(size)
}

function isToken(leaf: Leaf): leaf is Token {
  return leaf === token
}
