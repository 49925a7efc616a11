import { ArgumentError } from '@tenon/core'
import type { FoundSignature } from './read-signatures.ts'

/**
 * Refuses to call a kernel whose only signature cannot be read. Without its signature the call would be unchecked, which is not what
 * the author of the text wanted.
 *
 * @throws {ArgumentError} with the reason, and the place in the text
 */
export function refuseUnreadable({ signature, unreadable }: FoundSignature): void {
  const [first] = unreadable
  if (signature.source !== 'none' || first === undefined) return
  const { name } = signature
  throw new ArgumentError(`${name} must have a signature that can be read, got a mistake in ${first.reason}`, {
    hint: `Correct the text of the ${first.source}, or state the convention ${signature.convention} to call ${name} without a signature.`,
    details: { name, source: first.source, received: first.reason },
  })
}
