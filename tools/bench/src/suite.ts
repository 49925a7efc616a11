/**
 * What is measured. Its declared parameters say how:
 *
 * - `() => …` is one iteration. The harness loops over a copy of the loop that belongs to this body alone, and keeps what
 *   the body returns alive, so that the engine can't leave the work out. The loop itself costs about half a nanosecond.
 * - `(iterations) => …` runs that many iterations itself: for work of a nanosecond or less. Return something that
 *   depends on all of them.
 *
 * Both may return a promise: the harness waits for it (each iteration in turn in the first form).
 *
 * Functions made by one function literal, or by `new Function` from one source, share the engine's type feedback: what one
 * body does slows the other. Write each body where it stands; the harness warns of those that share.
 */
export type Body = (iterations: number) => unknown

/** The contestants of a row, made when its turn comes. */
export interface Contestants {
  readonly ours: Body
  /** What ours is compared with: at least one. They run in turns with ours. */
  readonly peers: Readonly<Record<string, Body>>
  /** Frees what `setup` opened. Runs also when a body throws. */
  readonly teardown?: () => void | Promise<void>
}

/** One line of the benchmark: ours against its peers, the same work in each. */
export interface Row {
  /** What is done, unique in the package: `allocate 16 B`. */
  readonly name: string
  /** `ns` for an iteration, or `GB/s` of the `bytes` that an iteration moves. */
  readonly unit: 'ns' | 'GB/s'
  /** Bytes that one iteration moves: needed for `GB/s`. */
  readonly bytes?: number
  /** What `--check` asks of ours/peer: at most this for `ns`, at least this for `GB/s`. */
  readonly target?: Readonly<Record<string, number>>
  /** Makes the contestants. Runs once, untimed. */
  readonly setup: () => Contestants | Promise<Contestants>
}

/**
 * What a bench file exports as `suite`.
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
