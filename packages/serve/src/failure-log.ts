import { KernelCrashError } from 'tenon/isolate'
import { HttpError } from './http/failure-status.ts'
import { describeFailure } from './service/describe-failure.ts'
import type { LogError } from './service/server-state.ts'

/** The most lines for failures of one kind in one second. */
const MOST_LINES = 10

/** The failures of one kind: an error with a status. */
interface Kind {
  /** The second in which they are counted. */
  second: number
  lines: number
  /** Those without a line since the last one. */
  suppressed: number
}

/** The details of a crash that say where it was. */
const CRASH_FIELDS: ReadonlySet<string> = new Set([
  'kernel',
  'signal',
  'exitCode',
  'exception',
  'address',
  'access',
  'operand',
  'byteOffset',
  'arguments',
  'backtrace',
  'coreFile',
  'debugger',
])

/** The facts about the crash of a kernel, as fields of its line. */
function crashFields(error: unknown): { readonly crash?: Readonly<Record<string, unknown>> } {
  if (!(error instanceof KernelCrashError)) return {}
  const known = Object.entries(error.details).filter(([name, value]) => CRASH_FIELDS.has(name) && value !== undefined)
  return { crash: Object.fromEntries(known) }
}

/**
 * Makes the default of `logError`: one line for each failure, with the stack if the server or a model is at fault. Under overload, only the
 * first failures of each second have a line, and the next one counts those without a line.
 *
 * @param write writes a line. @param clock the time in milliseconds.
 */
export function failureLog(
  write: (message: string, fields: Readonly<Record<string, unknown>>) => void,
  clock: () => number = () => performance.now(),
): LogError {
  const kinds = new Map<string, Kind>()
  return (error, { method, path, status, address, id }) => {
    const { name, message, stack } =
      error instanceof Error ? error : { name: 'Error', message: String(error), stack: undefined }
    const key = `${method === 'gRPC' ? 'gRPC' : 'HTTP'} ${status} ${name}`
    const second = Math.floor(clock() / 1000)
    let kind = kinds.get(key)
    if (kind === undefined) kinds.set(key, (kind = { second, lines: 0, suppressed: 0 }))
    if (kind.second !== second) Object.assign(kind, { second, lines: 0 })
    if (kind.lines === MOST_LINES) {
      kind.suppressed++
      return
    }
    kind.lines++
    const { suppressed } = kind
    kind.suppressed = 0
    const hasStack = !(error instanceof HttpError) && describeFailure(error).kind === 'failed'
    write(hasStack ? message : message.split('\n', 1)[0]!, {
      method,
      path,
      status,
      ...(address === undefined ? {} : { address }),
      ...(id === undefined ? {} : { id: id.slice(0, 100) }),
      name,
      ...(hasStack ? { stack } : {}),
      ...crashFields(error),
      ...(suppressed === 0 ? {} : { suppressed }),
    })
  }
}
