import { hash, randomBytes } from 'node:crypto'
import { PoolsError } from '@tenon/pools'

const ROUNDS = 6

/**
 * Generates unpredictable tokens from 1 to 2^32 - 1, never the same one twice, without remembering those already issued. Each
 * token is a counter value encrypted with a secret key (a Feistel network over two 16-bit halves).
 */
export class TokenSource {
  #count = 0
  /** The key, followed by the input of the current round. */
  readonly #block = Buffer.concat([randomBytes(32), Buffer.alloc(4)])

  /** @throws {PoolsError} `RESOURCE_EXHAUSTED_PERSISTENT` when all tokens are used up. */
  next(): number {
    let token = 0
    while (token === 0) {
      if (this.#count === 2 ** 32)
        throw new PoolsError(
          'RESOURCE_EXHAUSTED_PERSISTENT',
          'this connection has used up all its device-buffer tokens',
        )
      token = this.#permute(this.#count++)
    }
    return token
  }

  #permute(value: number): number {
    let [left, right] = [value >>> 16, value & 0xffff]
    for (let round = 0; round < ROUNDS; round++) {
      this.#block.writeUInt16LE(round, 32)
      this.#block.writeUInt16LE(right, 34)
      ;[left, right] = [right, left ^ hash('sha256', this.#block, 'buffer').readUInt16LE(0)]
    }
    return left * 2 ** 16 + right
  }
}
