import type { describeMachine, Spread } from '@tenon/bench'

/** How requests are sent: on how many connections or streams at the same time, and how many a second. */
export interface LoadPlan {
  readonly clients: number
  /** Undefined if each client sends its next request when it has the answer to the last one. */
  readonly rate?: number
}

/** The measurements of one server under one load. */
export interface Row extends LoadPlan {
  /** `http 4 KiB`, for example. The first server of a comparison is what the others are compared with. */
  readonly comparison: string
  readonly server: string
  /** The processor time of the server and its workers for each request, in microseconds. */
  readonly processor: Spread
  readonly requestsPerSecond: Spread
  /** Milliseconds. */
  readonly p50: Spread
  /** Milliseconds. */
  readonly p99: Spread
  /** The spread of the ratios to the first server in the same rounds. */
  readonly ratios: Readonly<Record<Measure, Spread>>
}

export type Measure = 'processor' | 'requestsPerSecond' | 'p50' | 'p99'

export const MEASURES: readonly Measure[] = ['processor', 'requestsPerSecond', 'p50', 'p99']

/** A limit of a ratio, and what was measured. */
export interface Goal {
  readonly name: string
  /** The median of the ratios. */
  readonly ratio: number
  /** `at most 1.4`, for example. */
  readonly limit: string
  readonly isMet: boolean
}

/** A run of the benchmark, as `--output` writes it. */
export interface Result {
  readonly date: string
  readonly node: string
  /** The load is what other programs did before the run. */
  readonly machine: ReturnType<typeof describeMachine>
  /** The versions of the server of FastAPI, or why it was left out. */
  readonly fastapi: string
  /** How often the servers were started. */
  readonly starts: number
  /** The measurements of a row after each start. */
  readonly rounds: number
  /** The duration of one measurement. */
  readonly seconds: number
  readonly rows: readonly Row[]
  readonly goals: readonly Goal[]
}
