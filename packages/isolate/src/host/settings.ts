import {
  checkOptions,
  checkSize,
  describe,
  isPlainObject,
  isRevoked,
  wrongType,
  wrongValue,
} from '@tenon/core/internal'
import { ArgumentError } from '@tenon/core'
import { byteCount } from '@tenon/pools/internal'
import type { RestartOptions, WorkersOptions } from './options.ts'
import type { RestartLimits } from './restart-policy.ts'
import type { WorkerCall } from './worker-call.ts'

/** The options of workers with their defaults, checked. */
export interface Settings {
  readonly workers: number
  /** In milliseconds; `Infinity` for none. */
  readonly deadline: number
  /** In bytes; 0 for no limit. */
  readonly memory: number
  readonly guard: boolean
  readonly idempotent: boolean
  readonly restart: RestartLimits
  readonly recycle: number
  readonly output: 'capture' | 'inherit' | 'ignore'
  readonly sandbox: 'default' | 'off'
  readonly coreDumps: boolean
  readonly queue: number
  readonly host: 'native' | 'node'
  /** `NAME=value`. */
  readonly environment: readonly string[]
  readonly grace: number
}

/** The names of the options of workers. */
export const WORKERS_OPTIONS: readonly (keyof WorkersOptions)[] = [
  'workers',
  'deadline',
  'memory',
  'guard',
  'idempotent',
  'restart',
  'recycle',
  'output',
  'sandbox',
  'coreDumps',
  'queue',
  'host',
  'env',
  'grace',
]

const MOST_WORKERS = 64
const DEFAULT_ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'HOME', 'TMPDIR', 'OMP_NUM_THREADS']

/** @throws {ArgumentError | ArgumentRangeError} if an option does not exist or is not valid */
export function checkSettings(options: WorkersOptions | undefined): Settings {
  const known = checkOptions(options, WORKERS_OPTIONS)
  // Each option is read once, because it may be a getter.
  const {
    workers = 1,
    deadline = 30_000,
    memory,
    guard = false,
    idempotent = false,
    restart,
    recycle = Infinity,
  } = known
  const { output = 'capture', sandbox = 'default', coreDumps = false, queue = 1024, host = 'native' } = known
  const { env = DEFAULT_ENVIRONMENT, grace = 100 } = known
  return {
    workers: checkCount(workers, 'workers', MOST_WORKERS),
    deadline: checkDeadline(deadline),
    memory: memory === undefined ? 0 : checkMemory(memory),
    guard: checkFlag(guard, 'guard'),
    idempotent: checkFlag(idempotent, 'idempotent'),
    restart: checkRestart(restart),
    recycle: recycle === Infinity ? recycle : checkCount(recycle, 'recycle', Number.MAX_SAFE_INTEGER),
    output: checkChoice(output, ['capture', 'inherit', 'ignore'], 'output'),
    sandbox: checkChoice(sandbox, ['default', 'off'], 'sandbox'),
    coreDumps: checkFlag(coreDumps, 'coreDumps'),
    queue: queue === Infinity ? queue : checkSize(queue, 'queue', 'calls'),
    host: checkChoice(host, ['native', 'node'], 'host'),
    environment: environmentOf(env),
    grace: checkDuration(grace, 'grace'),
  }
}

/** Checks a time in milliseconds, which may be `Infinity`. @throws {ArgumentError | ArgumentRangeError} */
export function checkDuration(value: unknown, name: string): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number of milliseconds', value)
  if (!(value >= 0)) throw wrongValue(name, 'a number of milliseconds from 0, or Infinity', value)
  return value
}

/** Checks the longest time of a call. @throws {ArgumentError | ArgumentRangeError} */
function checkDeadline(value: unknown): number {
  const deadline = checkDuration(value, 'deadline')
  if (deadline === 0) throw wrongValue('deadline', 'a number of milliseconds above 0, or Infinity', value)
  return deadline
}

function checkFlag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw wrongType(name, 'a boolean', value)
  return value
}

function checkChoice<Choice extends string>(value: unknown, choices: readonly Choice[], name: string): Choice {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw new ArgumentError(
    `${name} must be ${choices.map((choice) => `'${choice}'`).join(' or ')}, got ${describe(value)}`,
    {
      details: { name, expected: choices, received: describe(value) },
    },
  )
}

function checkCount(value: unknown, name: string, most: number): number {
  const count = checkSize(value, name, name)
  if (count < 1 || count > most) throw wrongValue(name, `a whole number from 1 to ${most}`, value)
  return count
}

function checkRestart(value: unknown): RestartLimits {
  const options = checkOptions(value as RestartOptions | undefined, ['limit', 'window', 'backoff'], 'restart')
  const { limit = 5, window = 10_000, backoff = 5000 } = options
  return {
    limit: limit === Infinity ? limit : checkSize(limit, 'restart.limit', 'crashes'),
    window: checkDuration(window, 'restart.window'),
    backoff: checkDuration(backoff, 'restart.backoff'),
  }
}

function checkMemory(value: unknown): number {
  const bytes = byteCount(value, 'memory')
  if (bytes === 0) throw wrongValue('memory', 'at least 1 byte', value)
  return bytes
}

function environmentOf(env: unknown): string[] {
  if (!isRevoked(env) && Array.isArray(env)) {
    return env.flatMap((name: unknown) => {
      const checked = checkVariable(name, 'a name')
      const value = process.env[checked]
      return value === undefined ? [] : [`${checked}=${value}`]
    })
  }
  if (!isPlainObject(env)) throw wrongType('env', 'a list of names, or an object of values by name', env)
  return Object.entries(env).map(([name, value]) => {
    if (typeof value !== 'string' || value.includes('\0')) {
      throw wrongType(`env.${name}`, 'a string without NUL characters', value)
    }
    return `${checkVariable(name, 'a name')}=${value}`
  })
}

function checkVariable(name: unknown, expected: string): string {
  if (typeof name === 'string' && name !== '' && !/[=\0]/.test(name)) return name
  throw wrongType('env', `${expected} of a variable, without = and NUL characters`, name)
}

/** The options of a call in a worker. */
type CallOptions = Pick<WorkerCall, 'deadline' | 'signal' | 'priority' | 'affinity' | 'idempotent'>

const PRIORITIES = ['low', 'medium', 'high'] as const

/** Checks options that were read once. @throws {ArgumentError | ArgumentRangeError} */
export function checkCallOptions({ deadline, signal, priority, affinity, idempotent }: CallOptions): void {
  if (deadline !== undefined) checkDeadline(deadline)
  if (signal !== undefined && (isRevoked(signal) || !(signal instanceof AbortSignal))) {
    throw wrongType('signal', 'an AbortSignal', signal)
  }
  if (priority !== undefined) checkChoice(priority, PRIORITIES, 'priority')
  if (affinity !== undefined && typeof affinity !== 'string') throw wrongType('affinity', 'a string', affinity)
  if (idempotent !== undefined) checkFlag(idempotent, 'idempotent')
}
