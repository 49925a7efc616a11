/**
 * The code to measure, in one of two forms:
 *
 * - `() => …` is one iteration. The harness loops over it with a loop of its own, and keeps the result alive, so that the
 *   engine cannot leave the work out. The loop costs about half a nanosecond.
 * - `(iterations) => …` runs that many iterations itself, for work of a nanosecond or less. Return a value that depends on
 *   all of them.
 *
 * Both may return a promise, for which the harness waits (after each iteration in the first form).
 *
 * Functions made by one function literal, or by `new Function` from one source, share type feedback, so one body slows the
 * other. Write each body separately; the harness warns of those that share.
 */
export type Body = (iterations: number) => unknown

/** The contestants of a row, made when its turn comes. */
export interface Contestants {
  readonly ours: Body
  /** The contestants with which ours is compared, at least one. All take turns. */
  readonly peers: Readonly<Record<string, Body>>
  /** Frees what `setup` opened, also if a body throws. */
  readonly teardown?: () => void | Promise<void>
}

/** `ns` or `ms` of an iteration, or `GB/s` of the `bytes` that an iteration moves. */
export type Unit = 'ns' | 'ms' | 'GB/s'

/** The name of a plot, and of its file. */
export type PlotName = 'latency' | 'arguments' | 'threads' | 'workers'

/** The place of a row in a plot of `pnpm bench --report`, in which each contestant is a line. */
export interface PlotPlace {
  readonly name: PlotName
  readonly x: number
  /** The calls of one iteration; 1 by default. */
  readonly calls?: number
  /** The name of the line of `ours`; `Tenon` by default. */
  readonly ours?: string
}

/** One row of the benchmark: ours and its peers, which do the same work. */
export interface Row {
  /** The name of the work, unique in the package: `allocate 16 B`. */
  readonly name: string
  readonly unit: Unit
  /** The bytes that one iteration moves, required for `GB/s`. */
  readonly bytes?: number
  /** The limit of ours/peer for `--check`, by peer: an upper limit for times, a lower limit for `GB/s`. */
  readonly target?: Readonly<Record<string, number>>
  /** The place of the row in a plot of the report. The unit of such a row must be `ns`. */
  readonly plot?: PlotPlace
  /** Makes the contestants. Runs once, untimed. */
  readonly setup: () => Contestants | Promise<Contestants>
}

/**
 * The export `suite` of a bench file.
 *
 * @example
 * // packages/scope/bench/allocate.bench.ts
 * export const suite = {
 *   package: '@tenon/scope',
 *   rows: [
 *     {
 *       name: 'allocate 16 B',
 *       unit: 'ns',
 *       target: { 'Buffer.allocUnsafe': 0.6 },
 *       setup: () => {
 *         const scope = openScope()
 *         return {
 *           ours: () => scope.allocate(16),
 *           peers: { 'Buffer.allocUnsafe': () => Buffer.allocUnsafe(16) },
 *           teardown: () => scope.close(),
 *         }
 *       },
 *     },
 *   ],
 * } satisfies Suite
 */
export interface Suite {
  /** The package's name: `@tenon/scope`. */
  readonly package: string
  readonly rows: readonly Row[]
}
