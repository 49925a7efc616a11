import { createHash, createHmac, randomBytes } from 'node:crypto'

/** Known to this process only. */
const secret = randomBytes(32)

/**
 * The key of a token in a table. It is a hash with a secret, so the time that a look-up takes says nothing about the tokens of the table, and the
 * memory of the process has no token.
 *
 * @param sha256 the hash of the token.
 */
export const keyOfHash = (sha256: Uint8Array): string => createHmac('sha256', secret).update(sha256).digest('base64')

export const keyOfToken = (token: string): string => keyOfHash(createHash('sha256').update(token).digest())
