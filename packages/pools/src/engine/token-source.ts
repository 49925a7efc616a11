import { hash, randomBytes } from 'node:crypto'
import { PoolsError } from '../error-status.ts'

const ROUNDS = 6

/**
 * Returns numbers from 1 to 2^32 - 1 that nobody can guess, each once, without storing them. It counts, and a permutation with a
 * secret key (a Feistel network over halves of 16 bits) hides the count.
 */
export class TokenSource {
  #count = 0
  /** The key, and the input of a round behind it. */
  readonly #block = Buffer.concat([randomBytes(32), Buffer.alloc(4)])

  /** @throws {PoolsError} `RESOURCE_EXHAUSTED_PERSISTENT` when there are no more. */
  next(): number {
    let token = 0
    while (token === 0) {
      if (this.#count === 2 ** 32)
        throw new PoolsError('RESOURCE_EXHAUSTED_PERSISTENT', 'this connection has used all tokens of device buffers')
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
