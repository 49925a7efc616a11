import type { Segment } from '@tenon/core'
import { CONSTANTS, LAYOUTS, READ_ONLY, STATUS } from '@tenon/core/internal'
import { ScriptHostError } from './script-host-error.ts'

const { size: RECORD, offsets: AT } = LAYOUTS.tn_host_strings_t
const COUNT_SIZE = 4

/** The most results of long strings, whose records must fit into an answer. */
const MOST_RECORDS = Math.floor((CONSTANTS.TN_HOST_BODY_SIZE - COUNT_SIZE) / RECORD)

/** The strings of a result that do not fit into the structs of its table. */
export interface LongStrings {
  /** The index of the result among the operands of the request. */
  readonly operand: number
  /** Structs without pointers, with the bytes of long strings behind them. */
  readonly strings: Segment
}

/** The results that clients have not fetched and released yet, by the id of their value. */
export class KeptStrings {
  readonly #values = new Map<number, readonly LongStrings[]>()
  #lastId = 0

  /**
   * Keeps the results of one call.
   *
   * @returns the id, and the body of the answer that lists the results. @throws {ScriptHostError} if there are too many
   */
  keep(results: readonly LongStrings[]): { readonly value: number; readonly body: Uint8Array } {
    if (results.length > MOST_RECORDS)
      throw new ScriptHostError(
        `a kernel must have at most ${MOST_RECORDS} results of long strings, got ${results.length}`,
      )
    const body = Buffer.alloc(results.length * RECORD + COUNT_SIZE)
    results.forEach(({ operand, strings }, i) => {
      const at = i * RECORD
      body.writeUInt32LE(operand, at + AT.operand)
      body.writeUInt32LE(i + FIRST_PART, at + AT.part)
      body.writeBigUInt64LE(BigInt(strings.byteSize), at + AT.size)
    })
    body.writeUInt32LE(results.length, body.length - COUNT_SIZE)
    const value = this.#nextId()
    this.#values.set(value, results)
    return { value, body }
  }

  /** Copies a part of a value to memory of the client. @param body the number of the part. @throws {ScriptHostError} */
  fetch(value: number, body: Uint8Array, to: Segment | null): void {
    const results = this.#values.get(value)
    if (results === undefined) throw new ScriptHostError(`there is no kept value ${value}`, STATUS.NOT_FOUND.value)
    const part = body.length === COUNT_SIZE ? Buffer.from(body).readUInt32LE() : 0
    const strings = results[part - FIRST_PART]?.strings
    if (strings === undefined)
      throw new ScriptHostError(`a fetch must name one of the ${results.length} parts of its value`)
    if (to === null || to.byteSize !== strings.byteSize || (to.flags & READ_ONLY) !== 0)
      throw new ScriptHostError(`a fetch must have one writable operand of ${strings.byteSize} bytes`)
    const { block, base, byteSize } = strings
    to.block.bytes.set(block.bytes.subarray(base, base + byteSize), to.base)
  }

  /** @throws {ScriptHostError} for a value that is not kept. */
  release(value: number): void {
    if (!this.#values.delete(value))
      throw new ScriptHostError(`there is no kept value ${value}`, STATUS.NOT_FOUND.value)
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0
    while (this.#lastId === 0 || this.#values.has(this.#lastId))
    return this.#lastId
  }
}

/** Part 0 of a value is a body that does not fit into its answer, which scripts do not have. */
const FIRST_PART = 1
