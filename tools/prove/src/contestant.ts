/** A point of the plane, which C takes and returns by value. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** Memory that a contestant allocates, and frees at a known time. */
export interface Memory {
  /** The memory as an argument of {@link Operations.sum} and {@link Operations.fill}. */
  readonly argument: unknown
  /** Reads one byte. */
  read(index: number): unknown
  write(index: number, value: number): unknown
  /** Ends the memory in the way that the contestant documents. */
  free(): unknown
}

/** A function of JavaScript that C can call. */
export interface Callback {
  readonly argument: unknown
  release(): unknown
}

/**
 * The functions of `csrc/work.c`, as a contestant calls them. A contestant leaves out what it cannot do. Arguments are unknown, because lines pass
 * wrong ones on purpose. A contestant with a process or a thread of its own returns promises.
 */
export interface Operations {
  nothing(): unknown
  addOne(value: unknown): unknown
  sum(bytes: unknown, size: unknown): unknown
  /** The same on another thread. */
  sumLater(bytes: unknown, size: unknown): Promise<unknown>
  fill(bytes: unknown, size: unknown, value: unknown): unknown
  /** Keeps the address of the bytes in C, and returns the first byte. */
  keep(bytes: unknown): unknown
  /** The first byte at the address that was kept. */
  kept(): unknown
  length(text: unknown): unknown
  text(): unknown
  scale(at: Point, factor: unknown): unknown
  /** @param isForeign whether another thread calls it */
  callback(run: (value: number) => number, isForeign?: boolean): Callback
  repeat(callback: unknown, count: number): unknown
  /** Returns at once, while a thread of C calls the callback. */
  repeatOnThread(callback: unknown, count: number): unknown
  allocate(size: number): Memory
  /** Memory that calls use without a copy; that of `allocate` by default. */
  inPlace(size: number): Omit<Memory, 'free'>
  writeNull(value: number): unknown
  /** Never returns. The contestant stops it after as many milliseconds, if it can. */
  spin(milliseconds: number): unknown
  /** Computes x + x for 2 x 2 numbers: a kernel, or a model. */
  double(x: unknown): Promise<unknown>
  /** Unloads the library, or ends the process or the thread in which it is. */
  close(): unknown
}

export type Offered = Partial<Operations>

/** The runtime that runs a contestant. */
export type Runtime = 'node' | 'bun' | 'deno'

/** The paths that a contestant needs to start. */
export interface Setup {
  /** The path of the library of `csrc/work.c`. */
  readonly library: string
  /** The `package.json` of the folder in which the rivals are installed. */
  readonly rivals: string
  /** The path of the addon, which is compiled with node-addon-api. */
  readonly addon: string
}

/** Whether a name is that of a mode of Tenon. */
export const isTenon = (name: string): boolean => name.startsWith('tenon')

/** Tenon, or one of its rivals. */
export interface Contestant {
  /** The name in `pnpm prove --only <line>/<name>`, and in the tables. */
  readonly name: string
  /** A sentence for the page: how the contestant does the work. */
  readonly description: string
  readonly runtimes: readonly Runtime[]
  /** The package whose install size counts, with what it depends on. */
  readonly package?: string
  /** Whether calls cross to another process or thread. Such contestants are not measured among calls of the same thread. */
  readonly isRemote?: boolean
  /** The source of a module that loads the contestant and makes one call, for the time of a start. */
  firstCall?(setup: Setup): string
  open(setup: Setup): Offered | Promise<Offered>
}
