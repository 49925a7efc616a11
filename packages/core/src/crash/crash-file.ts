/** Reads the files that crashes of native calls write. They may come from anywhere, so each member is checked. */
import type { TenonError } from '@tenon/binary'
import { ArgumentError } from '../errors/kinds.ts'
import { CONSTANTS } from '../generated/layouts.ts'
import type { CodeAddress, CodeModule } from './crash-record.ts'

/** The call in which a process crashed. */
export interface CrashedCall {
  readonly kernel: string
  readonly convention: string
  /** The types of the operands. */
  readonly types: readonly string[]
  /** The frames of JavaScript, innermost first. */
  readonly stack: readonly string[]
}

/** A crash of a native call, as a file says. */
export interface CrashFile {
  readonly signal: string
  readonly address: bigint | undefined
  readonly access: string
  readonly stackOverflow: boolean
  /** The mangled name of the type of a C++ exception, or an empty text. */
  readonly exception: string
  readonly thread: string
  /** Seconds since 1970. */
  readonly time: number
  readonly process: number
  readonly threadId: number
  /** The versions of Tenon and Node.js, and the platform. */
  readonly versions: { readonly tenon: string; readonly node: string; readonly platform: string; readonly arch: string }
  /** Undefined if it is not known. */
  readonly call: CrashedCall | undefined
  readonly frames: readonly CodeAddress[]
  /** One for each frame that is in a file. */
  readonly modules: readonly CodeModule[]
}

/** The largest file. Each of 64 frames has a path of at most 4 KiB, and a call has texts of 8 KiB, whose characters may be escaped. */
export const MOST_REPORT_BYTES = 1_048_576

const MOST_FRAMES = 64
const MOST_TEXT = 4096

/** The characters of a text of a call, and its lines. */
const { TN_CRASH_TEXT_SIZE: MOST_CALL_TEXT } = CONSTANTS
const MOST_LINES = MOST_CALL_TEXT

type Members = Readonly<Record<string, unknown>>

/** @throws {ArgumentError} if the text is not a report. */
export function parseCrashFile(text: string): CrashFile {
  const members = objectOf(parse(text), 'the report')
  if (members['format'] !== 'tenon-crash' || members['version'] !== 1)
    throw invalid('the report', 'the format tenon-crash in version 1', `${String(members['format']).slice(0, 40)}`)
  const listed = members['frames']
  if (!Array.isArray(listed) || listed.length > MOST_FRAMES) throw invalid('frames', `a list of at most ${MOST_FRAMES}`)
  const frames: CodeAddress[] = []
  const modules: CodeModule[] = []
  for (const [index, each] of listed.entries()) {
    const name = `frames[${index}]`
    const frame = objectOf(each, name)
    const pc = addressIn(frame, 'pc', name)
    const isExact = flagIn(frame, 'exact', name)
    frames.push({ pc, isExact })
    if (frame['library'] !== undefined) modules.push(moduleOf(frame, isExact ? pc : pc - 1n, pc, name))
  }
  return {
    signal: matching(members, 'signal', /^SIG[A-Z]{2,6}$/),
    address: members['address'] === undefined ? undefined : addressIn(members, 'address'),
    access: members['access'] === undefined ? 'unknown' : matching(members, 'access', /^(?:unknown|read|write|call)$/),
    stackOverflow: flagIn(members, 'stackOverflow'),
    exception: matching(members, 'exception', /^[\w.$]{0,128}$/),
    thread: matching(members, 'thread', /^[\w .]{1,64}$/),
    time: countIn(members, 'time'),
    process: countIn(members, 'process'),
    threadId: countIn(members, 'threadId'),
    versions: {
      tenon: matching(members, 'tenon', VERSION),
      node: matching(members, 'node', VERSION),
      platform: matching(members, 'platform', VERSION),
      arch: matching(members, 'arch', VERSION),
    },
    call: members['call'] === undefined ? undefined : callIn(members['call']),
    frames,
    modules,
  }
}

function callIn(value: unknown): CrashedCall {
  const members = objectOf(value, 'call')
  return {
    kernel: printableIn(members['kernel'], 'call.kernel'),
    convention: printableIn(members['convention'], 'call.convention'),
    types: printablesIn(members['types'], 'call.types'),
    stack: printablesIn(members['stack'], 'call.stack'),
  }
}

/** A list of texts, which a kernel may have damaged. They are printed. */
function printablesIn(value: unknown, name: string): readonly string[] {
  if (!Array.isArray(value) || value.length > MOST_LINES) throw invalid(name, `a list of at most ${MOST_LINES}`)
  return value.map((text, index) => printableIn(text, `${name}[${index}]`))
}

function printableIn(value: unknown, name: string): string {
  if (typeof value === 'string' && value.length <= MOST_CALL_TEXT && !/\p{Cc}/u.test(value)) return value
  throw invalid(name, `a text of at most ${MOST_CALL_TEXT} characters, without control characters`)
}

const VERSION = /^[\w.+-]{1,64}$/

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid('the report', 'JSON', undefined, cause)
  }
}

function moduleOf(frame: Members, start: bigint, pc: bigint, name: string): CodeModule {
  const path = textIn(frame, 'library', name)
  if (!path.startsWith('/') || path.includes('\0')) throw invalid(`${name}.library`, 'an absolute path')
  return {
    path,
    bias: pc - addressIn(frame, 'offset', name),
    start,
    end: start + 1n,
    buildId: matching(frame, 'buildId', /^(?:[\da-f]{2}){0,36}$/, name),
    identity: matching(frame, 'identity', /^\d{1,20} \d{1,20} -?\d{1,20}$/, name),
  }
}

function objectOf(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(name, 'an object')
  return value as Members
}

function textIn(members: Members, key: string, of?: string): string {
  const value = members[key]
  if (typeof value !== 'string' || value.length > MOST_TEXT)
    throw invalid(pathOf(key, of), `a text of at most ${MOST_TEXT} characters`)
  return value
}

function matching(members: Members, key: string, pattern: RegExp, of?: string): string {
  const value = textIn(members, key, of)
  if (!pattern.test(value)) throw invalid(pathOf(key, of), `a text like ${pattern.source}`, value.slice(0, 40))
  return value
}

const addressIn = (members: Members, key: string, of?: string): bigint =>
  BigInt(matching(members, key, /^0x[\da-f]{1,16}$/, of))

function flagIn(members: Members, key: string, of?: string): boolean {
  const value = members[key]
  if (typeof value !== 'boolean') throw invalid(pathOf(key, of), 'true or false')
  return value
}

function countIn(members: Members, key: string): number {
  const value = members[key]
  if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > 8.64e12)
    throw invalid(key, 'a whole number')
  return value as number
}

const pathOf = (key: string, of?: string): string => (of === undefined ? key : `${of}.${key}`)

function invalid(name: string, expected: string, received?: string, cause?: unknown): TenonError {
  const got = received === undefined ? '' : `, got ${JSON.stringify(received)}`
  return new ArgumentError(`${name} must be ${expected}${got}`, {
    hint: 'Pass a file that a crash with TENON_CRASH_REPORT=1 has written, unchanged.',
    details: { name, expected },
    ...(cause === undefined ? {} : { cause }),
  })
}
