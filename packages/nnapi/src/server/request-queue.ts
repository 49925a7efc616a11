import type { PoolsError } from '@tenon/pools'

/** A request that waits for its turn. */
export interface Waiting {
  /** The id of a request to execute, which can be cancelled; -1 for others. */
  readonly id: number
  readonly priority: number
  /** Executions may run before others that came earlier. Notes need no turn. */
  readonly kind: 'execution' | 'note' | 'other'
  readonly run: () => void
  /** Refuses it, or releases what it holds if the conversation ends. */
  readonly drop: (error: PoolsError | undefined) => void
}

/** The requests of one client that wait, in the order in which they came. */
export class RequestQueue {
  readonly #waiting: Waiting[] = []

  get length(): number {
    return this.#waiting.length
  }

  push(request: Waiting): void {
    this.#waiting.push(request)
  }

  /** Returns the most urgent of the executions at the front, or what is there instead. The queue is not empty. */
  next(): Waiting {
    let best = this.#waiting[0]!
    if (best.kind !== 'execution') return best
    for (const candidate of this.#waiting) {
      if (candidate.kind !== 'execution') break
      if (candidate.priority > best.priority) best = candidate
    }
    return best
  }

  /** Runs the next request, and then the notes behind it. */
  runNext(): void {
    const next = this.next()
    this.#waiting.splice(this.#waiting.indexOf(next), 1)
    next.run()
    this.#runNotes()
  }

  /** Refuses an execution that has not begun. Unknown ids are ignored. */
  cancel(id: number, error: PoolsError): void {
    const at = this.#waiting.findIndex((request) => request.kind === 'execution' && request.id === id)
    if (at === -1) return
    const [request] = this.#waiting.splice(at, 1) as [Waiting]
    request.drop(error)
    this.#runNotes()
  }

  /** Drops everything, without an answer. */
  clear(): void {
    for (const { drop } of this.#waiting.splice(0)) drop(undefined)
  }

  #runNotes(): void {
    while (this.#waiting[0]?.kind === 'note') this.#waiting.shift()!.run()
  }
}
