import { exchange } from './exchange.ts'
import { inferOf, input } from './hostile-request.ts'

/** Clients that send one correct request after the other, until the load is stopped. */
export class Load {
  readonly #loops: readonly Promise<void>[]
  #isStopped = false
  /** The number of answers by status. */
  readonly statuses = new Map<number, number>()

  constructor(port: number, model: string, clients: number) {
    const bytes = inferOf(model, { inputs: [input()] })
    const loop = async (): Promise<void> => {
      while (!this.#isStopped) {
        const { status } = await exchange(port, [bytes])
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      }
    }
    this.#loops = Array.from({ length: clients }, loop)
  }

  get answers(): number {
    return this.statuses.values().reduce((sum, count) => sum + count, 0)
  }

  /** Waits for some more answers. */
  async more(count: number): Promise<void> {
    const enough = this.answers + count
    while (this.answers < enough) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** Waits for the last answers. @returns all statuses, once each. */
  async stop(): Promise<number[]> {
    this.#isStopped = true
    await Promise.all(this.#loops)
    return [...this.statuses.keys()]
  }
}
