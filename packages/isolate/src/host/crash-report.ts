import {
  type CodeModule,
  type CrashRecord,
  describeFrame,
  frameOfFault,
  hex,
  LAYOUTS,
  locateFrames,
  type NativeFrame,
  NULL_PAGE,
  placeOfFrame,
  readCrash,
} from '@tenon/core/internal'
import type { WorkerOperand } from './worker-call.ts'
import type { ProcessEnd } from './worker-process.ts'

const { offsets: HEADER } = LAYOUTS.tn_host_header_t
const NO_OPERAND = 0xffff_ffff

/** The kinds of records. */
const SIGNAL = 1
const MAIN_THREAD_ENDED = 2

/**
 * The time in ms after which no further file is read for the names of frames, because the thread waits. What one file may take is limited by
 * the reader.
 */
const LONGEST_LOOKUP = 500

/** The signals of an invalid access. */
export const FAULTS: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGBUS'])

/** The usual name of a signal, such as `SIGSEGV`. Some signals have two names, of which the first one is the usual one. */
export function signalName(number: number): string {
  const { signals } = process.getBuiltinModule('node:os').constants
  const [name] = Object.entries(signals).find(([, value]) => Number(value) === number) ?? [`signal ${number}`]
  return name
}

/** How a worker ended, for a message and for `details`. */
export interface CrashReport {
  /** The part of the message behind the name of the kernel: `crashed: SIGSEGV`. */
  readonly sentence: string
  readonly details: {
    readonly signal?: string
    readonly exitCode?: number
    readonly stackOverflow?: boolean
    /** The address of an invalid access, in hexadecimal digits with `0x`. */
    readonly address?: string
    readonly [name: string]: unknown
  }
}

/** The facts about a worker that ended, and about the call that it was running. */
export interface EndedWorker {
  readonly end: ProcessEnd
  /** A copy of the header of its memory. */
  readonly header: Uint8Array<ArrayBuffer>
  /** The files whose code it had. */
  readonly modules: readonly CodeModule[]
  /** The operands of the call, if one had begun. */
  readonly operands: readonly WorkerOperand[] | undefined
  /** Why it could not be trusted any more. */
  readonly fault: string | undefined
}

/**
 * Describes the end of a worker from the status of its process and the record in a copy of its header. A kernel can write to the
 * record, so it only adds to what the system reports.
 */
export function reportCrash({ end, header, modules, operands, fault }: EndedWorker): CrashReport {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
  // A worker that was ending already has no other fault than that nothing could be sent to it any more.
  const isKilled = end.kind === 'signal' && signalName(end.value) === 'SIGKILL'
  if (fault !== undefined && isKilled)
    return { sentence: `damaged its worker, which was killed: ${fault}`, details: { fault } }
  const kind = view.getUint32(HEADER.crash_kind, true)
  if (end.kind === 'exit') {
    const exitCode = end.value
    const what = kind === MAIN_THREAD_ENDED ? 'main thread' : `process with exit code ${exitCode}`
    return { sentence: `ended its ${what}`, details: { exitCode, backtrace: [], frames: [] } }
  }
  const signal = signalName(end.value)
  const record = readCrash(view, HEADER.crash)
  if (kind !== SIGNAL || record.signal !== end.value)
    return { sentence: `crashed: ${signal}`, details: { signal, backtrace: [], frames: [] } }
  const place = FAULTS.has(signal) ? placeOf(view, record, operands) : undefined
  const frames = locateFrames(record.frames, modules, { timeout: LONGEST_LOOKUP })
  const exception = record.exception === '' ? undefined : typeName(record.exception)
  return {
    sentence: `crashed: ${signal}${place?.text ?? ''}${exception === undefined ? '' : ` after ${exception} was thrown`}${whereIn(frames)}`,
    details: {
      signal,
      ...place?.details,
      ...(exception === undefined ? {} : { exception }),
      backtrace: frames.map(describeFrame),
      frames,
    },
  }
}

/** The name of a C++ type, such as `std::runtime_error`. Names of templates stay mangled. */
function typeName(mangled: string): string {
  const names: string[] = []
  let rest = mangled.replace(/^N(.*)E$/, '$1')
  if (rest.startsWith('St')) {
    names.push('std')
    rest = rest.slice(2)
  }
  for (;;) {
    const [digits] = /^[1-9]\d{0,3}/.exec(rest) ?? []
    if (digits === undefined) break
    const end = digits.length + Number(digits)
    if (end > rest.length) break
    names.push(rest.slice(digits.length, end))
    rest = rest.slice(end)
  }
  return rest === '' && names.length > 0 ? names.join('::') : mangled
}

function whereIn(frames: readonly NativeFrame[]): string {
  const frame = frameOfFault(frames)
  return frame === undefined ? '' : ` in ${placeOfFrame(frame)}`
}

/** The place of an invalid access. */
function placeOf(
  view: DataView,
  { address, access, isStackFull }: CrashRecord,
  operands: readonly WorkerOperand[] | undefined,
): { readonly text: string; readonly details: Omit<CrashReport['details'], 'signal' | 'exitCode'> } | undefined {
  if (address === undefined) return undefined
  const verb =
    access === undefined ? 'accessing' : ({ read: 'reading', write: 'writing', call: 'calling' } as const)[access]
  const [index, offset] = [view.getUint32(HEADER.crash_operand, true), view.getBigInt64(HEADER.crash_offset, true)]
  const operand = operands?.[index]
  const common = { address: hex(address), access }
  if (operand !== undefined && operand !== null && index !== NO_OPERAND) {
    const byteOffset = Number(offset)
    const where =
      byteOffset < 0
        ? `${-byteOffset} bytes before operand ${index}`
        : `at byte ${byteOffset} of operand ${index}, which has ${operand.length} bytes`
    return { text: ` ${verb} ${where}`, details: { ...common, operand: index, byteOffset } }
  }
  const memory = view.getUint32(HEADER.crash_pool, true)
  if (memory !== NO_OPERAND) {
    return { text: ` ${verb} beside shared memory`, details: { ...common, memory, byteOffset: Number(offset) } }
  }
  if (isStackFull) return { text: ' because its stack is full', details: { ...common, stackOverflow: true } }
  if (access === 'call') return { text: ` calling the address ${hex(address)}`, details: common }
  const at = ` ${verb} at address ${hex(address)}`
  if (address >= NULL_PAGE) return { text: at, details: common }
  const nullOffset = Number(address)
  return { text: nullOffset === 0 ? at : `${at}, a null pointer + ${nullOffset}`, details: { ...common, nullOffset } }
}
