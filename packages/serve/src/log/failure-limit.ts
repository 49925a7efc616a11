/** The most lines for failures of one kind in one second. */
const MOST_LINES = 10

/** The most kinds that are counted, because clients choose some of the paths. */
const MOST_KINDS = 256

/** The failures of one kind. */
interface Kind {
  /** The second in which they are counted. */
  second: number
  lines: number
  /** Those without a line since the last one. */
  suppressed: number
}

/** Limits the lines of failures. Under overload, only the first failures of each second have a line, and the next line counts the others. */
export class FailureLimit {
  readonly #kinds = new Map<string, Kind>()
  readonly #clock: () => number

  /** @param clock the time in milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** Counts a failure. @returns the number of those of its kind that had no line since the last one, or undefined if it has no line. */
  count(name: string): number | undefined {
    const second = Math.floor(this.#clock() / 1000)
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      if (this.#kinds.size >= MOST_KINDS) this.#kinds.delete(this.#kinds.keys().next().value!)
      this.#kinds.set(name, (kind = { second, lines: 0, suppressed: 0 }))
    }
    if (kind.second !== second) Object.assign(kind, { second, lines: 0 })
    if (kind.lines === MOST_LINES) {
      kind.suppressed++
      return undefined
    }
    kind.lines++
    const { suppressed } = kind
    kind.suppressed = 0
    return suppressed
  }
}
