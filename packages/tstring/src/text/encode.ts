import { InvalidTextError } from '../errors/tstring-errors.ts'
import { checkBytes } from '../memory/typed-arrays.ts'
import type { InvalidText } from './decode.ts'

/** The value of an element: a string, or bytes that are stored unchanged. */
export type Text = string | Uint8Array

const aboveLatin1 = /[\u0100-\uffff]/

/** Returns the bytes of an element. @throws {InvalidTextError} according to the policy @throws {ArgumentError} */
export function encodeText(value: Text, policy: InvalidText, name: string): Buffer {
  if (typeof value === 'string') return encodeString(value, policy, name)
  const { buffer, byteOffset, byteLength } = checkBytes(value, name)
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}

/** Returns the bytes of text. @throws {InvalidTextError} according to the policy */
export function encodeString(value: string, policy: InvalidText, name: string): Buffer {
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
