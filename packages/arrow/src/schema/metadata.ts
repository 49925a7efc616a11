import { copiedBuffer, wrongType } from '@tenon/core/internal'
import { malformed } from '../errors/arrow-error.ts'
import { canBeMemory, readInt32 } from '../import/native-words.ts'

/** The most entries, and the most bytes of all of them. The encoding does not state its size, so it is read as far as its numbers say. */
const [MOST_ENTRIES, MOST_BYTES] = [65_536, 2 ** 24]

/** No metadata, shared by all fields without any. */
const none: ReadonlyMap<string, string> = new Map<string, string>()

/** Reads the metadata of a field at an address, which is 0 for none. @throws {ArrowError} if a number is not valid */
export function readMetadata(address: number, path: string): ReadonlyMap<string, string> {
  if (address === 0) return none
  let at = address
  const next = (what: string, limit: number): number => {
    const number = canBeMemory(at, 4) ? readInt32(at) : -1
    if (number < 0 || number > limit)
      throw malformed(path, `must have metadata whose ${what} is from 0 to ${limit}, got ${number}`)
    at += 4
    return number
  }
  const text = (what: string): string => {
    const size = next(what, MOST_BYTES - (at - address))
    const bytes = Buffer.from(copiedBuffer(at, size))
    at += size
    return bytes.toString()
  }
  const count = next('number of entries', MOST_ENTRIES)
  const metadata = new Map<string, string>()
  for (let i = 0; i < count; i++) metadata.set(text('size of a key'), text('size of a value'))
  return metadata
}

/** @throws {ArgumentError} if metadata to export are no texts, or more than can be read */
export function checkMetadata(metadata: unknown, path: string): void {
  const isOfTexts = metadata instanceof Map && [...metadata].flat().every((one) => typeof one === 'string')
  const isSmall = isOfTexts && metadata.size <= MOST_ENTRIES && writeMetadata(metadata).length <= MOST_BYTES
  if (!isSmall) throw wrongType(`metadata of ${path}`, `a Map of texts, of at most ${MOST_BYTES} bytes`, metadata)
}

/** Encodes metadata as the interface has them: numbers of 32 bits in the order of the machine, and texts in UTF-8. */
export function writeMetadata(metadata: ReadonlyMap<string, string>): Uint8Array {
  const sized = (text: string): Uint8Array[] => {
    const bytes = Buffer.from(text)
    return [number(bytes.length), bytes]
  }
  return Buffer.concat([number(metadata.size), ...[...metadata].flat().flatMap(sized)])
}

const number = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer)
