import { InvalidRequestError } from '../errors.ts'

const MOST_CHARACTERS = 60

/** A name or a value for a message. It is cut off, because clients choose it. */
export const cutOff = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}...` : text

/** A value for a message. Texts have quotation marks, because the text "NaN" is not the number NaN. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutOff(value))
  if (typeof value !== 'object' || value === null) return cutOff(String(value))
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** The error for a field. */
export const wrong = (path: string, expected: string, received: unknown): InvalidRequestError =>
  new InvalidRequestError(`${path} must be ${expected}, got ${describeValue(received)}`)
