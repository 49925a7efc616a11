import type { RemoteAnswer, RemoteKernel, SharedChunk } from '@tenon/core/internal'

/** A kernel that took less, in nanoseconds, is waited for. To go on in the event loop, and to be woken by the answer, takes longer. */
const SHORT = 50_000

/** After waits in vain, twice as many calls as before are not waited for, at most this many. */
const MOST_SKIPPED = 1024

/** How long a kernel takes, as its worker says. A worker that lies delays its callers a little. */
export class Pace {
  #time = Infinity
  #skipped = 0
  #left = 0

  /** Notes the time of a call in nanoseconds. */
  answered(time: number): void {
    this.#time = time
  }

  /** Counts a call, and says whether it is waited for. */
  takeTurn(): boolean {
    if (this.#time >= SHORT) return false
    if (this.#left === 0) return true
    this.#left--
    return false
  }

  /** Notes whether a call was answered while it was waited for. */
  waited(isAnswered: boolean): void {
    this.#skipped = isAnswered ? 0 : Math.min(Math.max(2 * this.#skipped, 1), MOST_SKIPPED)
    this.#left = this.#skipped
  }
}

/** A kernel, or a library, that a worker has prepared or is preparing. */
export interface Known {
  readonly id: number
  /** The answer to the request that prepares it, if it failed. */
  failure: RemoteAnswer | undefined
  /** Whether that request has no answer yet. */
  isPending: boolean
  readonly pace: Pace
}

/** The libraries and kernels that one worker knows. Those that could not be prepared are forgotten, so the next call tries again. */
export class KnownKernels {
  readonly #kernels = new Map<RemoteKernel, Known>()
  readonly #libraries = new Map<string, Known>()
  readonly #onSettled: () => void
  #nextId = 1

  /** @param onSettled called after each request that may have loaded a library. */
  constructor(onSettled: () => void) {
    this.#onSettled = onSettled
  }

  find(kernel: RemoteKernel): Known | undefined {
    return this.#kernels.get(kernel)
  }

  findLibrary(path: string): Known | undefined {
    return this.#libraries.get(path)
  }

  add(kernel: RemoteKernel): Known {
    const known: Known = { id: this.#nextId++, failure: undefined, isPending: true, pace: new Pace() }
    this.#kernels.set(kernel, known)
    return known
  }

  addLibrary(path: string): Known {
    const known: Known = { id: this.#nextId++, failure: undefined, isPending: true, pace: new Pace() }
    this.#libraries.set(path, known)
    return known
  }

  /** Notes the answer to a request that prepares a kernel or a library. */
  settle(known: Known, answer: RemoteAnswer, key: RemoteKernel | string): void {
    known.isPending = false
    this.#onSettled()
    if (answer.status === 0) return
    known.failure = answer
    if (typeof key === 'string') {
      if (this.#libraries.get(key) === known) this.#libraries.delete(key)
    } else if (this.#kernels.get(key) === known) {
      this.#kernels.delete(key)
    }
  }

  /** Forgets a kernel. @returns its id if the worker must release it */
  forget(kernel: RemoteKernel): number | undefined {
    const known = this.#kernels.get(kernel)
    this.#kernels.delete(kernel)
    return known?.failure === undefined ? known?.id : undefined
  }
}

/** A chunk that a worker has mapped. */
export interface KnownMemory {
  readonly id: number
  readonly chunk: SharedChunk
  readonly isWritable: boolean
  /** Whether a call used it again since the last search for one to release. */
  wasUsed: boolean
  /** The last call that uses it. */
  call: number
  /** Takes the listener of the end of the chunk back. */
  readonly unlisten: () => void
}

/** The most chunks that a worker knows at a time. */
const MOST_MEMORIES = 1024

/**
 * The chunks that a worker knows. When there are too many, the next one that was not used since the last search is released, so
 * that one chunk more than the limit does not make every call map all of its chunks again.
 */
export class KnownMemories {
  readonly #known = new Map<SharedChunk, KnownMemory>()
  readonly #most: number
  #nextId = 1
  #call = 0
  /** Calls mostly use the chunk of the call before. */
  #last: KnownMemory | undefined

  constructor(most: number = MOST_MEMORIES) {
    this.#most = most
  }

  get size(): number {
    return this.#known.size
  }

  /** Begins a call, whose chunks stay until the next one begins. */
  begin(): void {
    this.#call++
  }

  /** Returns the entry of a chunk, if the worker has the rights that a call needs. */
  find(chunk: SharedChunk, isWritten: boolean): KnownMemory | undefined {
    let entry = this.#last
    if (entry?.chunk !== chunk) entry = this.#known.get(chunk)
    if (entry === undefined || (isWritten && !entry.isWritable)) return undefined
    entry.wasUsed = true
    entry.call = this.#call
    return (this.#last = entry)
  }

  /**
   * Adds a chunk, also one that was known without the right to write.
   *
   * @param released is called with the id of each entry that the worker must release.
   */
  add(chunk: SharedChunk, isWritable: boolean, released: (id: number) => void): KnownMemory {
    this.remove(chunk, released)
    const least = this.#known.size < this.#most ? undefined : this.#leastUsed()
    if (least !== undefined) this.remove(least, released)
    const unlisten = chunk.onClose(() => this.remove(chunk, released))
    const entry = { id: this.#nextId++, chunk, isWritable, wasUsed: false, call: this.#call, unlisten }
    this.#known.set(chunk, entry)
    return (this.#last = entry)
  }

  remove(chunk: SharedChunk, released: (id: number) => void): void {
    const entry = this.#known.get(chunk)
    if (entry === undefined) return
    this.#known.delete(chunk)
    if (this.#last === entry) this.#last = undefined
    entry.unlisten()
    released(entry.id)
  }

  /** Forgets a chunk that the worker could not map. */
  forget(chunk: SharedChunk, id: number): void {
    if (this.#known.get(chunk)?.id === id) this.remove(chunk, () => {})
  }

  /** Forgets all chunks, because the worker has ended. */
  clear(): void {
    for (const { unlisten } of this.#known.values()) unlisten()
    this.#known.clear()
    this.#last = undefined
  }

  /** The map keeps the order in which entries were looked at last, so its beginning is the hand of the clock. */
  #leastUsed(): SharedChunk | undefined {
    for (let left = 2 * this.#known.size; left > 0; left--) {
      const [chunk, entry] = this.#known.entries().next().value!
      const isNeeded = entry.call === this.#call
      if (!isNeeded && !entry.wasUsed) return chunk
      if (!isNeeded) entry.wasUsed = false
      this.#known.delete(chunk)
      this.#known.set(chunk, entry)
    }
    return undefined
  }
}
