import { argumentError } from '../errors/arguments.ts'
import { InvalidTextError } from '../errors/tstring-errors.ts'
import type { InvalidText } from './decode.ts'

/** The value of an element: a string, or bytes that are stored unchanged. */
export type Text = string | Uint8Array

const aboveLatin1 = /[\u0100-\uffff]/

/** Returns the bytes of an element. @throws {InvalidTextError} according to the policy @throws {ArgumentError} */
export function encodeText(value: Text, policy: InvalidText, name: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value !== 'string') throw argumentError(name, 'a string or a Uint8Array', value)
  if (policy === 'throw' && !value.isWellFormed()) {
    throw new InvalidTextError(`${name} must not have a lone surrogate, which UTF-8 cannot encode`, {
      hint: "Pass the intended bytes as a Uint8Array, or choose invalid: 'replace'.",
    })
  }
  if (policy === 'latin1' && aboveLatin1.test(value)) {
    throw new InvalidTextError(`${name} must not have a character above U+00FF, which Latin-1 cannot encode`, {
      hint: "Leave out invalid: 'latin1' to write UTF-8.",
    })
  }
  return Buffer.from(value, policy === 'latin1' ? 'latin1' : 'utf8')
}
