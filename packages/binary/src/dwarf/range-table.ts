import { BinaryFormatError } from '../binary-format-error.ts'

/** The most ranges of a table. Programs with a debug file of 500 MiB have some hundred thousand. */
const MAX_RANGES = 2_000_000

/** Numbers by ranges of addresses. */
export class RangeTable {
  /** For each range its first address, the one behind it, and the number. */
  #entries = new Float64Array(192)
  #used = 0

  /** @throws {BinaryFormatError} if the table has more than {@link MAX_RANGES} ranges */
  add(low: number, high: number, number: number): void {
    if (this.#used === 3 * MAX_RANGES) {
      throw new BinaryFormatError(`the debug information has more than ${MAX_RANGES} ranges of addresses in one table`)
    }
    if (this.#used === this.#entries.length) {
      const larger = new Float64Array(2 * this.#used)
      larger.set(this.#entries)
      this.#entries = larger
    }
    this.#entries[this.#used] = low
    this.#entries[this.#used + 1] = high
    this.#entries[this.#used + 2] = number
    this.#used += 3
  }

  /** The numbers of the ranges that contain an address, that of the smallest range first. */
  find(address: number): number[] {
    const entries = this.#entries
    const found: (readonly [size: number, number: number])[] = []
    for (let index = 0; index < this.#used; index += 3) {
      const low = entries[index]!
      const high = entries[index + 1]!
      if (address >= low && address < high) found.push([high - low, entries[index + 2]!])
    }
    return [...new Set(found.toSorted(([size], [other]) => size - other).map(([, number]) => number))]
  }
}
