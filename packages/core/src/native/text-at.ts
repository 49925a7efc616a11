import { hex } from '../errors/describe.ts'
import { NativeError } from '../errors/kinds.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import { coreFunctions, coreLibrary } from './core-library.ts'
import { addressOf } from './native-memory.ts'

/** The most bytes of a text whose length C does not say, with its terminator. */
const { TN_CALL_LARGEST_TEXT: MAXIMUM_TEXT } = CONSTANTS

/**
 * Copies the UTF-8 at an address from native code, up to its terminator. Null for the null pointer. The caller guarantees that the
 * address is that of memory.
 *
 * @throws {NativeError} if there is no terminator within {@link MAXIMUM_TEXT} bytes, or no memory can be at the address.
 */
export function textAt(address: number | bigint): string | null {
  if (address === 0) return null
  const text = typeof address === 'number' ? read(address) : undefined
  if (text !== undefined) return text
  throw textWithoutEnd(address)
}

/** The error for a text that has no terminator, or no memory. */
export function textWithoutEnd(address: number | bigint): NativeError {
  return new NativeError(
    `the text at ${hex(address)} must have a terminator within ${MAXIMUM_TEXT.toLocaleString('en-US')} bytes`,
    {
      hint: 'Declare the type as pointer, and read the text with its length.',
      details: { address: hex(address), expected: MAXIMUM_TEXT },
    },
  )
}

function read(address: number): string | undefined {
  const { driver } = coreLibrary()
  if (driver.boundedTextAt !== undefined) return driver.boundedTextAt(address, MAXIMUM_TEXT)
  const core = coreFunctions()
  const byteSize = Number(core.tn_text_length(address, MAXIMUM_TEXT))
  if (byteSize === MAXIMUM_TEXT) return undefined
  const copy = Buffer.allocUnsafeSlow(byteSize + 1)
  core.tn_memory_copy(addressOf(copy), address, byteSize)
  return copy.toString('utf8', 0, byteSize)
}
