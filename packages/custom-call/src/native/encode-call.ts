import type { AttributeDictionary } from '../attributes/encode-attributes.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { addressesOf, encodeDescriptor, freeDescriptor } from './descriptor.ts'

const NO_HANDLERS = addressesOf(() => 0)

/**
 * Encodes a call of a typed handler for another process, which adds the addresses of the handlers and the minor version of XLA FFI.
 *
 * @throws {ArgumentError} if an attribute cannot be passed.
 */
export function encodeCall(shape: CallShape, attributes: AttributeDictionary, deviceOrdinal: number): Uint8Array {
  const writer = encodeDescriptor(0, NO_HANDLERS, shape, attributes, deviceOrdinal)
  try {
    return writer.copy()
  } finally {
    freeDescriptor(writer)
  }
}
