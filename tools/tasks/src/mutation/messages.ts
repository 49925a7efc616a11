/** A test that a process has run. */
export interface RanTest {
  /** The path relative to the package, `#`, and the names of its suites and its own. */
  readonly id: string
  readonly name: string
  readonly file: string
  readonly state: 'pass' | 'fail' | 'skip'
  /** Of processor time, which other programs do not change. */
  readonly milliseconds: number
  readonly message: string
  readonly line: number
  readonly column: number
}

/** How often tests reach mutants: by the id of the test, then by that of the mutant. */
export interface Reached {
  readonly static: Readonly<Record<string, number>>
  readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** What the process has once all test files are loaded, and after the first run of all tests. */
export interface Loaded {
  readonly kind: 'loaded'
  readonly pid: number
  readonly tests: readonly RanTest[]
  readonly reached: Reached
}

/** Sent before each test, so that a process that hangs can be told from one with slow tests. */
export interface Started {
  readonly kind: 'started'
  readonly test: string
}

/** The result of a {@link Request}. */
export interface Outcome {
  readonly kind: 'outcome'
  readonly ran: number
  /** How often the code of the mutant ran. */
  readonly hits: number
  /** The first test that failed; undefined if all pass. */
  readonly failed?: { readonly test: string; readonly message: string } | undefined
}

/** Runs tests, with a mutant in place of the code or without. */
export interface Request {
  readonly mutant: string | undefined
  readonly tests: readonly string[]
  /** A mutant that runs more often than this is in an endless loop. */
  readonly hitLimit?: number | undefined
}

export type Message = Loaded | Started | Outcome

/** Whether the process runs all tests once when it has loaded them. */
export const FIRST_RUN = 'TENON_MUTATE_FIRST_RUN'

/** How many files the process loads. */
export const FILES = 'TENON_MUTATE_FILES'

/** The path of the socket for messages. */
export const SOCKET = 'TENON_MUTATE_SOCKET'

/** A test that no mutant is tried with: it fails when it runs again in the same process, or takes too long. */
export interface LeftOutTest {
  readonly test: string
  readonly reason: 'fails when it runs again' | 'is slow'
}

/** Returns the path of the list of these tests. @param cache the directory for results */
export const leftOutFile = (cache: string): string => `${cache}/left-out-tests.json`
