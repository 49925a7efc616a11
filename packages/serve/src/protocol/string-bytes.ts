import { InvalidRequestError } from '../errors.ts'

/** The bytes of a length in front of each element: an unsigned number in little-endian byte order. */
const LENGTH_SIZE = 4

/**
 * The elements of a string tensor in the binary form of the protocol, which has the length of each element before its bytes. They are parts
 * of `bytes`.
 *
 * @throws {InvalidRequestError} if a length is beyond the end, or there are more or fewer than `count` elements.
 */
export function readStrings(name: string, bytes: Uint8Array, count: number): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const elements: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const start = at + LENGTH_SIZE
    const length = start <= bytes.length ? view.getUint32(at, true) : 0
    if (start + length > bytes.length) {
      throw new InvalidRequestError(`element ${elements.length} of ${name} must end within its ${bytes.length} bytes`)
    }
    if (elements.length === count) break
    elements.push(bytes.subarray(start, start + length))
    at = start + length
  }
  if (elements.length === count && at === bytes.length) return elements
  const received = elements.length === count ? 'more' : `${elements.length}`
  throw new InvalidRequestError(`${name} must have ${count} strings for its shape, got ${received}`)
}

/** The binary form of the elements of a string tensor. */
export function writeStrings(elements: readonly Uint8Array[]): Uint8Array {
  const size = elements.reduce((sum, { length }) => sum + LENGTH_SIZE + length, 0)
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  let at = 0
  for (const element of elements) {
    view.setUint32(at, element.length, true)
    bytes.set(element, at + LENGTH_SIZE)
    at += LENGTH_SIZE + element.length
  }
  return bytes
}
