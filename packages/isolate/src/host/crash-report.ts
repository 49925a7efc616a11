import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { hex, LAYOUTS } from '@tenon/core/internal'
import type { WorkerOperand } from './worker-call.ts'
import type { ProcessEnd } from './worker-process.ts'

const { offsets: HEADER } = LAYOUTS.tn_host_header_t
const TEXT_SIZE = 512
const NO_OPERAND = 0xffff_ffff
const NO_ADDRESS = 2n ** 64n - 1n
/** Times of files lag behind the clock by up to this many ms. */
const CLOCK_STEP = 20

/** The kinds of records. */
const SIGNAL = 1
const MAIN_THREAD_ENDED = 2

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

/**
 * Describes the end of a worker from the status of its process and the record in a copy of its header. A kernel can write to the
 * record, so it only adds to what the system reports.
 *
 * @param operands the operands of the call, if one had begun.
 */
export function reportCrash(
  end: ProcessEnd,
  header: Uint8Array<ArrayBuffer>,
  operands: readonly WorkerOperand[] | undefined,
  fault: string | undefined,
): CrashReport {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
  const backtrace = backtraceOf(header)
  // A worker that was ending already has no other fault than that nothing could be sent to it any more.
  const isKilled = end.kind === 'signal' && signalName(end.value) === 'SIGKILL'
  if (fault !== undefined && isKilled)
    return { sentence: `damaged its worker, which was killed: ${fault}`, details: { fault } }
  const kind = view.getUint32(HEADER.crash_kind, true)
  if (end.kind === 'exit') {
    const exitCode = end.value
    const what = kind === MAIN_THREAD_ENDED ? 'main thread' : `process with exit code ${exitCode}`
    return { sentence: `ended its ${what}`, details: { exitCode, backtrace } }
  }
  const signal = signalName(end.value)
  const hasRecord = kind === SIGNAL && view.getInt32(HEADER.crash_signal, true) === end.value
  const place = hasRecord && FAULTS.has(signal) ? placeOf(view, operands) : undefined
  return { sentence: `crashed: ${signal}${place?.text ?? ''}`, details: { signal, ...place?.details, backtrace } }
}

/** The place of an invalid access. */
function placeOf(
  view: DataView,
  operands: readonly WorkerOperand[] | undefined,
): { readonly text: string; readonly details: Omit<CrashReport['details'], 'signal' | 'exitCode'> } | undefined {
  const address = view.getBigUint64(HEADER.crash_address, true)
  if (address === NO_ADDRESS) return undefined
  const access = ([undefined, 'read', 'write'] as const)[view.getUint32(HEADER.crash_access, true)]
  const verb = access === undefined ? 'accessing' : access === 'read' ? 'reading' : 'writing'
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
  if (view.getUint32(HEADER.crash_is_stack, true) === 1) {
    return { text: ' because its stack is full', details: { ...common, stackOverflow: true } }
  }
  return { text: ` ${verb} at address ${hex(address)}`, details: common }
}

/** The lines of the backtrace: `symbol+offset (file)`. */
function backtraceOf(header: Uint8Array<ArrayBuffer>): readonly string[] {
  const text = header.subarray(HEADER.crash_text, HEADER.crash_text + TEXT_SIZE)
  const end = text.indexOf(0)
  return printable(text.subarray(0, end < 0 ? TEXT_SIZE : end))
    .split('\n')
    .filter((line) => line !== '')
}

const printable = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('utf8')
    .replaceAll(/[^\n\P{Cc}]/gu, '?')

/**
 * The path of the core file of a process, if the system has written one to the working directory.
 *
 * @param since when the process started, as ms since the epoch. An older file is of another crash.
 */
export function coreFileOf(process: number, since: number): string | undefined {
  const file = [`core.${process}`, 'core'].find((name) => {
    const stats = statSync(name, { throwIfNoEntry: false })
    return stats?.isFile() === true && stats.mtimeMs >= since - CLOCK_STEP
  })
  return file === undefined ? undefined : resolve(file)
}
