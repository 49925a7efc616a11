import { dtypeInfo } from '@tenon/core'
import { CONSTANTS, LAYOUTS } from '@tenon/core/internal'
import { encodeAttributes, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import type { Stage } from '../errors/xla-error.ts'
import { Temp, token, type Leaf, type Token } from '../shape/leaf.ts'
import { ByteWriter } from './byte-writer.ts'

/** The stages, in the order of their numbers in the ABI. */
export const STAGES: readonly Stage[] = ['instantiate', 'prepare', 'initialize', 'execute']

/** A value for the execute handler of a target, and optionally for the handlers of its other stages. */
export type ByStage<Value> = { readonly execute: Value } & { readonly [Name in Exclude<Stage, 'execute'>]?: Value }

/** The addresses of a target's handlers by stage; 0 for a stage without a handler. */
export type HandlerAddresses = Readonly<Record<Stage, number>>

/** Makes the addresses of a target's handlers. */
export function addressesOf(find: (stage: Stage, index: number) => number): HandlerAddresses {
  return Object.fromEntries(STAGES.map((stage, index) => [stage, find(stage, index)])) as HandlerAddresses
}

/** The parts of a call for the frame builder of the C core. */
export interface CallDescription {
  /** The minor version of XLA FFI whose function table the handlers get. */
  readonly minor: number
  /** The number of the device; -1 if it is unknown. */
  readonly deviceOrdinal: number
  readonly handlers: HandlerAddresses
  readonly operands: readonly Leaf[]
  readonly results: readonly Leaf[]
  readonly attributes: AttributeDictionary
}

/** The XLA type of tokens. */
const TOKEN = 17

/**
 * Encodes a call for `tn_xla_frame_build`, in the layout of the core's `csrc/xla/frame.c`.
 *
 * @throws {ArgumentError} if an attribute cannot be passed.
 */
export function encodeDescriptor(call: CallDescription): Uint8Array {
  const { minor, deviceOrdinal, handlers, operands, results, attributes } = call
  const writer = new ByteWriter()
  const { offsets } = LAYOUTS.tn_xla_descriptor_t
  writer.reserve(offsets.handlers)
  writer.patchU32(offsets.magic, CONSTANTS.TN_XLA_DESCRIPTOR_MAGIC)
  writer.patchU32(offsets.minor, minor)
  writer.patchU32(offsets.operands, operands.length)
  writer.patchU32(offsets.results, results.length)
  writer.patchU32(offsets.device_ordinal, deviceOrdinal)
  for (const stage of STAGES) writer.u64(handlers[stage])
  for (const leaf of [...operands, ...results]) encodeBuffer(writer, leaf)
  writer.patchU32(offsets.attributes, encodeAttributes(writer, attributes))
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
