import type { TenonError } from '@tenon/core'

/** The options of workers. */
export interface WorkersOptions {
  /** The number of workers, from 1 to 64. The default is 1. */
  readonly workers?: number
  /** The longest time for one call, in milliseconds, with the time in the queue. The default is 30,000; `Infinity` is allowed. */
  readonly deadline?: number
  /**
   * The private memory that a worker may have: a number of bytes, or a text with a unit such as `512 MiB`. Its units are B, KiB, MiB, GiB, TiB,
   * kB, MB, GB and TB. The default is no limit.
   */
  readonly memory?: number | string
  /**
   * Whether operands lie between pages without access, up to 63 bytes before the second one, and are read-only unless they are results.
   * The default is false.
   */
  readonly guard?: boolean
  /** Whether a call whose worker crashed runs once more on another worker. The default is false. */
  readonly idempotent?: boolean
  readonly restart?: RestartOptions
  /** The number of calls after which a worker is replaced. The default is `Infinity`. */
  readonly recycle?: number
  /**
   * Where the stdout and stderr of kernels go. By default they are captured, and errors have them as `details.output`.
   * `inherit` uses those of this process.
   */
  readonly output?: 'capture' | 'inherit' | 'ignore'
  /** By default a filter refuses system calls that kernels do not need, such as `execve` and `socket`. */
  readonly sandbox?: 'default' | 'off'
  /** Whether crashes write core files. The default is false. */
  readonly coreDumps?: boolean
  /** The number of calls that may wait for a worker. The default is 1024. */
  readonly queue?: number
  /** By default kernels run in a native process. A worker in Node.js runs kernels in TypeScript. */
  readonly host?: 'native' | 'node'
  /**
   * The environment of the workers: names of variables of this process, or values by name. By default PATH, LD_LIBRARY_PATH, HOME,
   * TMPDIR and OMP_NUM_THREADS.
   */
  readonly env?: readonly string[] | Readonly<Record<string, string>>
  /** The time between the cancellation of a call and the end of its worker by force, in milliseconds. The default is 100. */
  readonly grace?: number
}

/** The options of closing workers. */
export interface CloseOptions {
  /** The longest time in milliseconds. Then the calls that are left fail. The default is `Infinity`. */
  readonly deadline?: number
}

/** When crashed workers are replaced. */
export interface RestartOptions {
  /** The number of crashes within `window` after which no worker is started any more. The default is 5. */
  readonly limit?: number
  /** In milliseconds. The default is 10,000. */
  readonly window?: number
  /**
   * The longest time before a worker is started again, in milliseconds. The first crash costs no time, the next ones 10, 20, 40 and
   * so on. The default is 5000.
   */
  readonly backoff?: number
}

/** The state of one worker. */
export interface WorkerHealth {
  /** The place of the worker, from 0. */
  readonly index: number
  /** The number of its process; 0 if there is none. */
  readonly process: number
  readonly state: 'starting' | 'idle' | 'preparing' | 'running' | 'calling back' | 'restarting'
  /** The kernel in progress. */
  readonly kernel: string | undefined
  /** The calls that this process has answered. */
  readonly calls: number
}

/** The state of all workers. */
export interface IsolateHealth {
  /** `failed` after too many crashes, until `restart()`. */
  readonly state: 'ready' | 'restarting' | 'failed' | 'closed'
  readonly workers: readonly WorkerHealth[]
  /** Why the state is `failed`. */
  readonly failure?: TenonError | undefined
}

/** A histogram: `buckets[i]` is the number of times of 2^i up to 2^(i + 1) nanoseconds. */
export interface TimeHistogram {
  readonly count: number
  /** The sum of all times in nanoseconds. */
  readonly sum: number
  /** 40 buckets. */
  readonly buckets: readonly number[]
}

/** The resources of one worker. */
export interface WorkerMetrics {
  readonly index: number
  readonly process: number
  /** The calls that this process has answered. */
  readonly calls: number
  /** In milliseconds. */
  readonly uptime: number
  /** Private and shared resident memory in bytes; undefined where the system does not report them. */
  readonly rssAnon: number | undefined
  readonly rssShmem: number | undefined
}

/** Counts since the workers were opened. */
export interface IsolateMetrics {
  readonly calls: number
  /** The number of failed calls by the class of the error. */
  readonly failures: Readonly<Record<string, number>>
  readonly retries: number
  readonly restarts: number
  /** The calls that wait. */
  readonly queued: number
  /** The calls in workers. */
  readonly running: number
  /** The bytes of operands that were copied into shared memory. */
  readonly copiedBytes: number
  /** The time until a call was sent to a worker. */
  readonly queueTime: TimeHistogram
  /** The time in the kernel. */
  readonly runTime: TimeHistogram
  /** The time from the call to its result. */
  readonly roundTripTime: TimeHistogram
  readonly workers: readonly WorkerMetrics[]
}
