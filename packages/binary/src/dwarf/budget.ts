import { BinaryFormatError } from '../binary-format-error.ts'

/** The steps that a lookup may take for each byte of debug information, and in addition to them, and altogether. */
const STEPS_PER_BYTE = 16
const SPARE_STEPS = 1_000_000
const MAX_STEPS = 300_000_000

/** The debug information takes far more steps to read than its size explains. */
export class BudgetError extends BinaryFormatError {}

/**
 * Limits the steps of one lookup. Entries of a file may refer to the same list or table, and a hostile file could otherwise make a lookup
 * take the product of their sizes.
 */
export class Budget {
  readonly #limit: number
  #left: number

  constructor(byteSize: number) {
    this.#limit = Math.min(byteSize * STEPS_PER_BYTE + SPARE_STEPS, MAX_STEPS)
    this.#left = this.#limit
  }

  reset(): void {
    this.#left = this.#limit
  }

  /** @throws {BudgetError} if all steps are spent */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new BudgetError(`a lookup in the debug information takes more than ${this.#limit} steps`)
  }
}
