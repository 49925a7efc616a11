/** A reproducible source of random numbers, so that a seed and an index name one signature and its values. */
export class Random {
  #state: number

  constructor(seed: number, stream: number) {
    this.#state = (Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(stream | 0, 0x85ebca77)) | 0
    for (let i = 0; i < 4; i++) this.uint32()
  }

  uint32(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return (t ^ (t >>> 14)) >>> 0
  }

  /** A whole number from 0 up to, but without, `limit`. */
  below(limit: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * limit)
  }

  chance(probability: number): boolean {
    return this.uint32() / 2 ** 32 < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }

  bytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => this.uint32() >>> 24)
  }
}
