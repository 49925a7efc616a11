import { KernelCrashError } from 'tenon/isolate'
import { HttpError } from '../http/failure-status.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { RequestRecord } from './request-record.ts'

/** The members of a line besides its time, level and message. Undefined ones are left out. */
export type LineFields = Readonly<Record<string, unknown>>

/** The most characters of a text that a client chose. */
const MOST_CHARACTERS = 200

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

/** The line of a request that was answered. @param now the end of the request, as `performance.now()` has it. */
export function requestFields(record: RequestRecord, now: number): LineFields {
  const { source, caller, model, version, status, bytesIn, bytesOut, reason, start, times, id, trace } = record
  return {
    method: cut(source.method),
    path: cut(source.path),
    status,
    address: source.address,
    caller: cut(caller.name),
    id: cut(id),
    trace,
    model: cut(model),
    version: cut(version),
    durationMs: milliseconds(now - start),
    queueMs: times === undefined ? undefined : milliseconds(times.queue / 1e6),
    runMs: times === undefined ? undefined : milliseconds(times.computeInfer / 1e6),
    bytesIn,
    bytesOut,
    reason,
  }
}

/** A failure as a line has it. */
interface FailureLine {
  readonly level: 'warn' | 'error'
  readonly message: string
  readonly fields: LineFields
}

/** The fields of a line that describe an error. @param hasStacks whether an error that is not the client's has its stack. */
export function failureLine(error: unknown, hasStacks: boolean): FailureLine {
  const { name, message, stack } =
    error instanceof Error ? error : { name: 'Error', message: String(error), stack: undefined }
  const isOurs = !(error instanceof HttpError) && describeFailure(error).kind === 'failed'
  return {
    level: isOurs ? 'error' : 'warn',
    message: hasStacks && isOurs ? message : message.split('\n', 1)[0]!,
    fields: { name, cause: causeOf(error), stack: hasStacks && isOurs ? stack : undefined, ...crashFields(error) },
  }
}

/** The first line of the error behind an error. */
function causeOf(error: unknown): string | undefined {
  const { cause } = error instanceof Error ? error : {}
  return cause instanceof Error ? cut(cause.message.split('\n', 1)[0]) : undefined
}

/** The facts about the crash of a kernel. */
function crashFields(error: unknown): LineFields {
  if (!(error instanceof KernelCrashError)) return {}
  const known = Object.entries(error.details).filter(([name, value]) => CRASH_FIELDS.has(name) && value !== undefined)
  return { crash: Object.fromEntries(known) }
}

const cut = (text: string | undefined): string | undefined => text?.slice(0, MOST_CHARACTERS)

const milliseconds = (value: number): number => Math.round(1000 * value) / 1000
