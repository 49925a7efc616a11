import { InvalidRequestError } from '../errors.ts'

const MOST_CHARACTERS = 60

/** A name or a value for a message. It is cut off, because clients choose it. */
export const cutOff = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text

/** The error for a field. */
export function wrong(path: string, expected: string, received: unknown): InvalidRequestError {
  const text =
    typeof received === 'object' && received !== null
      ? Array.isArray(received)
        ? 'an array'
        : 'an object'
      : String(received)
  return new InvalidRequestError(`${path} must be ${expected}, got ${cutOff(text)}`)
}
