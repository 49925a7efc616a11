import type { CallPriority } from '@tenon/core/internal'

/** A call, or the first of several that one worker gets at once, in a queue. The queue writes the fields that begin with `queue`. */
export interface Queued {
  readonly priority: CallPriority
  /** The worker that must run it; -1 for any. */
  readonly workerIndex: number
  /** Whether it warms up that worker, which other calls wait for. */
  readonly isWarmUp: boolean
  /** The number of calls. */
  readonly weight: number
  queueBefore: Queued | undefined
  queueAfter: Queued | undefined
  queueNumber: number
}

const PRIORITIES = ['high', 'medium', 'low'] as const satisfies readonly CallPriority[]

/** One list of calls in the order of their arrival. */
class Lane {
  first: Queued | undefined
  last: Queued | undefined
}

/** The lanes of calls that the same workers may run: one for each priority. */
type Lanes = Readonly<Record<CallPriority, Lane>>

/**
 * The calls that wait for a worker. Calls of a higher priority go first, and calls of the same priority in the order of their
 * arrival. Adding, taking and removing a call take the same time for any length of the queue.
 */
export class CallQueue<Item extends Queued> {
  /** For any worker, then for each worker, and then for the calls that warm up each worker. */
  readonly #lanes: readonly Lanes[]
  readonly #workers: number
  #nextNumber = 1
  #firstNumber = 0
  /** The number of calls, each with its weight. Only the queue changes it. */
  length = 0

  constructor(workers: number) {
    const make = (): Lanes => ({ high: new Lane(), medium: new Lane(), low: new Lane() })
    this.#workers = workers
    this.#lanes = Array.from({ length: 2 * workers + 1 }, make)
  }

  add(item: Item): void {
    const lane = this.#laneOf(item)
    item.queueNumber = this.#nextNumber++
    item.queueBefore = lane.last
    if (lane.last === undefined) lane.first = item
    else lane.last.queueAfter = item
    lane.last = item
    this.length += item.weight
  }

  /** Adds a call before all others of its priority, because it was taken before them. */
  addFirst(item: Item): void {
    const lane = this.#laneOf(item)
    item.queueNumber = this.#firstNumber--
    item.queueAfter = lane.first
    if (lane.first === undefined) lane.last = item
    else lane.first.queueBefore = item
    lane.first = item
    this.length += item.weight
  }

  has(item: Item): boolean {
    return item.queueBefore !== undefined || this.#laneOf(item).first === item
  }

  /** Removes a call that is in the queue. */
  remove(item: Item): void {
    const lane = this.#laneOf(item)
    const { queueBefore, queueAfter } = item
    if (queueBefore === undefined) lane.first = queueAfter
    else queueBefore.queueAfter = queueAfter
    if (queueAfter === undefined) lane.last = queueBefore
    else queueAfter.queueBefore = queueBefore
    item.queueBefore = item.queueAfter = undefined
    this.length -= item.weight
  }

  /** Removes and returns the next call for a worker. */
  take(workerIndex: number): Item | undefined {
    if (this.length === 0) return undefined
    const [any, own] = [this.#lanes[0]!, this.#lanes[workerIndex + 1]!]
    for (const priority of PRIORITIES) {
      const [a, b] = [any[priority].first, own[priority].first]
      const next = a === undefined || (b !== undefined && b.queueNumber < a.queueNumber) ? b : a
      if (next === undefined) continue
      this.remove(next as Item)
      return next as Item
    }
    return undefined
  }

  /** Removes and returns the next call that warms up a worker. */
  takeWarmUp(workerIndex: number): Item | undefined {
    const lanes = this.#lanes[this.#workers + workerIndex + 1]!
    for (const priority of PRIORITIES) {
      const next = lanes[priority].first
      if (next === undefined) continue
      this.remove(next as Item)
      return next as Item
    }
    return undefined
  }

  /** All calls, which the caller may remove meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (const lanes of this.#lanes) {
      for (const priority of PRIORITIES) {
        for (let item = lanes[priority].first; item !== undefined;) {
          const { queueAfter } = item
          yield item as Item
          item = queueAfter
        }
      }
    }
  }

  #laneOf(item: Item): Lane {
    return this.#lanes[(item.isWarmUp ? this.#workers : 0) + item.workerIndex + 1]![item.priority]
  }
}

/** Returns the worker for a key: the same one for the same key and number of workers. */
export function workerIndexOf(affinity: string, workers: number): number {
  // FNV-1a, which spreads keys that differ in one character.
  let hash = 0x811c9dc5
  for (let index = 0; index < affinity.length; index++) hash = Math.imul(hash ^ affinity.charCodeAt(index), 0x01000193)
  return ((hash ^ (hash >>> 15)) >>> 0) % workers
}
