/** The objects of a row. */
export interface Objects {
  /** Makes one object. `index` counts the objects that are alive. */
  readonly make: (index: number) => unknown
  /** Ends one object of `make`, if it has to be closed. Objects without `end` are left to the garbage collector. */
  end?(object: unknown): void
  /** Frees what `setup` opened. */
  readonly teardown?: () => void
}

/** The limits of a row. The growth of the time is checked for every row that is not a peer, the others with `--check`. */
export interface AliveTarget {
  /**
   * A peer of the suite that may grow as fast as this row. The engine moves each object that survives, which multiplies the
   * time of objects that take few nanoseconds.
   */
  readonly growth?: string
  /** The most resident bytes of an object while {@link MANY_ALIVE} are alive. */
  readonly bytes?: number
  /** The most that the time of an object may be of the time in another row of the suite, with one object alive. */
  readonly ratio?: Readonly<Record<string, number>>
  /** The most that the time of an object may be of NumPy's time, with one object alive. */
  readonly numpy?: number
}

/** One kind of object: how it is made and ended. */
export interface AliveRow {
  /** The name of the objects, unique in the package: `NativeScope with 16 bytes`. */
  readonly name: string
  /** Whether the objects are what a user would take without Tenon. The growth of peers is printed but not checked. */
  readonly isPeer?: boolean
  /** The largest number of objects that are alive at once. 1 is for calls that do not return a new object. */
  readonly most?: number
  readonly target?: AliveTarget
  /** The same work in NumPy, as a Python expression, and the statements before it (`np` is imported). */
  readonly numpy?: { readonly make: string; readonly setup?: string }
  /** Opens what the objects need. Runs once in each process, untimed. */
  readonly setup: () => Objects
}

/**
 * The export `suite` of `packages/<name>/bench/alive.ts`.
 *
 * @example
 * export const suite = {
 *   package: '@tenon/scope',
 *   rows: [
 *     {
 *       name: 'NativeScope with 16 bytes',
 *       target: { bytes: 2048 },
 *       setup: () => ({
 *         make: () => {
 *           const scope = NativeScope.ofConfined()
 *           scope.allocate(16)
 *           return scope
 *         },
 *         end: (scope) => scope.close(),
 *       }),
 *     },
 *   ],
 * } satisfies AliveSuite
 */
export interface AliveSuite {
  /** The package's name: `@tenon/scope`. */
  readonly package: string
  readonly rows: readonly AliveRow[]
}

/** The number of objects from which on resident memory is measured. Fewer objects take less than the noise. */
export const MANY_ALIVE = 10_000
