import { InvalidRequestError } from '../errors.ts'

/** The third argument of a reviver, of which TypeScript's library knows nothing. */
interface ReviverContext {
  readonly source?: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes text. @throws {TypeError} for bytes that are not UTF-8. */
export const decodeUtf8 = (bytes: Uint8Array): string => utf8.decode(bytes)

/**
 * Reads JSON.
 *
 * @param isExact whether integers beyond 2^53 are read as bigints. It takes several times as long.
 * @throws {InvalidRequestError} if the bytes are not UTF-8, or not JSON.
 */
export function parseJson(bytes: Uint8Array, isExact: boolean): unknown {
  try {
    const text = decodeUtf8(bytes)
    return isExact ? JSON.parse(text, readInteger as (key: string, value: unknown) => unknown) : JSON.parse(text)
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it is not UTF-8 text, or nested too deeply'
    throw new InvalidRequestError(`the request must be JSON: ${reason}`, { cause: error })
  }
}

/** The most characters of a 64-bit integer. To read a longer one takes a time that grows with the square of its length. */
const LONGEST_INTEGER = 20

function readInteger(_: string, value: unknown, { source }: ReviverContext): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  if (source.length > LONGEST_INTEGER) return value
  return /^-?\d+$/.test(source) ? BigInt(source) : value
}
