/** One call of a hot path with a number of things: arguments, strings, clients. */
export interface Growing {
  /** Does the call once. A promise is awaited. */
  run(): unknown
  /** Frees what was opened. A promise is awaited. */
  close?(): unknown
}

/** A hot path whose time may grow as the number of things that one call has, and not faster. */
export interface GrowthRow {
  /** The things that are counted, and the call: `arguments of a packed function`. */
  readonly name: string
  /** The numbers of things, over three decades where the path allows it. */
  readonly counts: readonly number[]
  /** Why the time may grow faster than the number. Without it, faster growth fails. */
  readonly reason?: string
  /** Opens the call for a number of things, untimed. */
  open(count: number): Growing | Promise<Growing>
}

/**
 * The export `suite` of `packages/<name>/bench/growth.ts`.
 *
 * @example
 * export const suite = {
 *   package: '@tenon/tstring',
 *   rows: [
 *     {
 *       name: 'strings of a tensor',
 *       counts: [100, 1000, 10_000, 100_000],
 *       open: (count) => {
 *         const strings = Array.from({ length: count }, String)
 *         return { run: () => StringTensor.from(strings) }
 *       },
 *     },
 *   ],
 * } satisfies GrowthSuite
 */
export interface GrowthSuite {
  readonly package: string
  readonly rows: readonly GrowthRow[]
}
