/** Makes calls with an affinity, which run in one worker. */
export type WarmUp = (affinity: string) => Promise<unknown>

/** The functions that warm up the workers of a library, and the keys of those that run. */
export class WarmUps {
  /** Run for each worker that replaces another one. */
  readonly #functions = new Set<WarmUp>()
  /** The indices of workers by the affinities of the calls that warm them up. */
  readonly #workers = new Map<string, number>()

  /** How many synchronous calls block the thread, which cannot warm up workers meanwhile. Calls then run in cold workers. */
  blockingCalls = 0

  get isEmpty(): boolean {
    return this.#functions.size === 0
  }

  /** The worker that calls with an affinity warm up; undefined for other calls. */
  workerOf(affinity: string): number | undefined {
    return this.#workers.size === 0 ? undefined : this.#workers.get(affinity)
  }

  /** @returns a function that removes it. */
  add(warmUp: WarmUp): () => void {
    // The same function can be added twice.
    const own: WarmUp = (affinity) => warmUp(affinity)
    this.#functions.add(own)
    return () => void this.#functions.delete(own)
  }

  /** Warms up one worker. @throws (rejects with) what the function throws. */
  async run(index: number, warmUp: WarmUp): Promise<void> {
    const affinity = process.getBuiltinModule('node:crypto').randomUUID()
    this.#workers.set(affinity, index)
    try {
      await warmUp(affinity)
    } finally {
      this.#workers.delete(affinity)
    }
  }

  /** Warms up a worker that replaces another one. @throws (rejects with) what the first function throws that fails. */
  async runAll(index: number): Promise<void> {
    for (const warmUp of this.#functions) await this.run(index, warmUp)
  }
}
