import type { CallFlags } from './call-flags.ts'
import { parseDuration, parseSize } from './units.ts'
import { UsageError } from './usage-error.ts'

/** The options of `Library.isolate()` that the command line states. */
export interface IsolateSettings {
  readonly deadline?: number
  readonly memory?: number
  readonly guard: boolean
  readonly workers: number
}

/** The flags that only have a meaning with `--isolate`. */
const dependent = ['deadline', 'memory', 'guard', 'workers'] as const

/** Refuses flags that have no effect in this process. @throws {UsageError} */
export function refuseIsolateFlags(flags: CallFlags): void {
  const flag = dependent.find((name) => flags[name] !== undefined && flags[name] !== false)
  if (flag !== undefined && !flags.isolate) throw new UsageError(`--${flag} must be used with --isolate`)
}

/** Reads the flags of an isolated call. @throws {UsageError} */
export function readIsolateFlags(flags: CallFlags): IsolateSettings {
  const other = [
    ['--stage', flags.stage.length > 0],
    ['--alias', flags.alias.length > 0],
    ['--host-scratch', flags['host-scratch']],
    ['--cuda-driver', flags['cuda-driver'] !== undefined],
    [`--abi ${flags.abi}`, flags.abi?.startsWith('cuda')],
  ] as const
  const refused = other.find(([, isPresent]) => isPresent)
  if (refused !== undefined) throw new UsageError(`--isolate cannot be used with ${refused[0]}`)
  const { deadline, memory, guard, workers } = flags
  return {
    ...(deadline === undefined ? {} : { deadline: parseDuration('--deadline', deadline) }),
    ...(memory === undefined ? {} : { memory: parseSize('--memory', memory) }),
    guard,
    workers: workers === undefined ? 1 : parseWorkers(workers),
  }
}

function parseWorkers(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 64) return count
  throw new UsageError(`--workers must be a whole number from 1 to 64, got ${text || 'nothing'}`)
}
