import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { InvalidTextError } from '../errors/tstring-errors.ts'
import type { InvalidText } from './decode.ts'

/** What an element can be made of: a string, or bytes as they are. */
export type Text = string | Uint8Array

/**
 * The bytes of an element.
 *
 * @param policy for lone surrogates, which UTF-8 lacks: `replace` writes U+FFFD, `throw` throws; `latin1` writes a byte a
 *   character instead of UTF-8 and throws for characters above U+00FF.
 * @throws {InvalidTextError} as the policy says. @throws {ArgumentError} if it is neither string nor bytes.
 */
export function encodeText(value: Text, policy: InvalidText, name: string): Uint8Array {
  if (typeof value === 'string') {
    checkText(value, policy, name)
    return Buffer.from(value, policy === 'latin1' ? 'latin1' : 'utf8')
  }
  return checkBytes(value, name)
}

/** @throws {ArgumentError} if it is no Uint8Array. */
function checkBytes(value: unknown, name: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new ArgumentError(`${name} must be a string or a Uint8Array, got ${describe(value)}`)
}

const aboveLatin1 = /[\u0100-\uffff]/

/** @throws {InvalidTextError} if the policy refuses the string. */
function checkText(value: string, policy: InvalidText, name: string): void {
  if (policy === 'throw' && !value.isWellFormed()) {
    throw new InvalidTextError(`${name} holds a lone surrogate, which UTF-8 lacks`, {
      hint: "give the bytes that it should have, or choose invalid: 'replace'.",
    })
  }
  if (policy === 'latin1' && aboveLatin1.test(value)) {
    throw new InvalidTextError(`${name} holds a character above U+00FF, which Latin-1 lacks`, {
      hint: "leave out invalid: 'latin1' to write UTF-8.",
    })
  }
}
