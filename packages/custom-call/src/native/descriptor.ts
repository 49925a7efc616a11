import { dtypeInfo, TensorType } from '@tenon/core'
import { ByteWriter, CONSTANTS, LAYOUTS } from '@tenon/core/internal'
import { encodeAttributes, type AttributeDictionary } from '../attributes/encode-attributes.ts'
import type { Stage } from '../errors/xla-error.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { countLeaves, Temp, type Leaf } from '../shape/leaf.ts'

/** The stages, in the order of their numbers in the ABI. */
export const STAGES: readonly Stage[] = ['instantiate', 'prepare', 'initialize', 'execute', 'record']

/** The stages that run. Handlers of the others are only asked for their metadata. */
const RUN_STAGES = STAGES.filter((stage) => stage !== 'record')

/** A value for the execute handler of a target, and optionally for the handlers of its other stages. */
export type ByStage<Value> = { readonly execute: Value } & { readonly [Name in Exclude<Stage, 'execute'>]?: Value }

/** The addresses of a target's handlers by stage; 0 for a stage without a handler. */
export type HandlerAddresses = Readonly<Record<Stage, number>>

export function addressesOf(find: (stage: Stage, index: number) => number): HandlerAddresses {
  return Object.fromEntries(STAGES.map((stage, index) => [stage, find(stage, index)])) as HandlerAddresses
}

const TOKEN = 17

/** The writer of the next descriptor. Encoding takes it, because a Proxy among attributes can prepare another call meanwhile. */
let free: ByteWriter | undefined

/** Takes back the memory of a descriptor that no native function reads any more. */
export function freeDescriptor(descriptor: ByteWriter): void {
  free = descriptor
}

/**
 * Encodes a call for `tn_xla_frame_build`, in the layout of the core's `csrc/xla/frame.c`.
 *
 * @returns the descriptor, for {@link freeDescriptor}.
 * @param minor the minor version of XLA FFI whose function table the handlers get.
 * @param deviceOrdinal the number of the device; -1 if it is unknown.
 * @throws {ArgumentError} if an attribute cannot be passed.
 */
export function encodeDescriptor(
  minor: number,
  handlers: HandlerAddresses,
  { leaves, operands }: CallShape,
  attributes: AttributeDictionary,
  deviceOrdinal: number,
): ByteWriter {
  const operandCount = countLeaves(operands)
  const writer = free ?? new ByteWriter()
  free = undefined
  writer.clear()
  const { offsets } = LAYOUTS.tn_xla_descriptor_t
  writer.reserve(offsets.handlers)
  writer.patchU32(offsets.magic, CONSTANTS.TN_XLA_DESCRIPTOR_MAGIC)
  writer.patchU32(offsets.minor, minor)
  writer.patchU32(offsets.operands, operandCount)
  writer.patchU32(offsets.results, leaves.length - operandCount)
  writer.patchU32(offsets.device_ordinal, deviceOrdinal)
  for (const stage of RUN_STAGES) writer.u64(handlers[stage])
  for (const leaf of leaves) encodeBuffer(writer, leaf)
  writer.patchU32(offsets.attributes, encodeAttributes(writer, attributes))
  return writer
}

function encodeBuffer(writer: ByteWriter, leaf: Leaf): void {
  const type = leaf instanceof Temp ? leaf.type : leaf
  if (!(type instanceof TensorType)) {
    writer.u32(TOKEN)
    writer.u32(0)
    return
  }
  const { dtype, shape } = type
  writer.u32(dtypeInfo(dtype).xla)
  writer.u32(shape.length)
  for (let i = 0; i < shape.length; i++) writer.u64(shape[i]!)
}
