/** Describes the calls of this thread in memory that the handlers of fatal signals read. */
import { channel } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { CONSTANTS, LAYOUTS } from '../generated/layouts.ts'
import { checkStatus, coreFunctions } from '../native/core-library.ts'
import { shared } from '../native/call/shared.ts'
import { addressOf } from '../native/native-memory.ts'
import type { CallTrace } from '../tracing/call-trace.ts'
import { traceCall } from '../tracing/tracing.ts'

const { offsets: CALLS, size: CALLS_SIZE } = LAYOUTS.tn_crash_calls_t
const { offsets: CALL, size: CALL_SIZE } = LAYOUTS.tn_crash_call_t
const { TN_CRASH_CALLS: PLACES, TN_CRASH_TEXT_SIZE: TEXT_SIZE } = CONSTANTS

/** The bytes of the name and of the types of a call. The stack of JavaScript gets the rest. */
const MOST_NAME = 512
const MOST_TYPES = 2048

/** The frames of JavaScript that are described, with up to five of Tenon, which are left out. Each takes almost a microsecond. */
const MOST_FRAMES = 12

/** Has crashes of this thread reported from now on. The reporter is installed. @throws {NativeError} for too many threads */
export function recordCalls(): void {
  // All copies of this package in a thread use the same channels.
  shared('crash calls', record)
}

/** Subscribes to the calls of this thread, so that calls cost nothing as long as nothing is reported. */
function record(): Buffer {
  const memory = Buffer.from(new ArrayBuffer(CALLS_SIZE))
  const words = new Uint32Array(memory.buffer)
  /** The calls in progress, innermost last. */
  const calls: CallTrace[] = []
  checkStatus(coreFunctions().tn_crash_report_thread(addressOf(memory)), 'reporting the crashes of this thread')

  const start = (message: unknown): void => {
    const call = message as CallTrace
    if (call.worker !== undefined) return
    calls.push(call)
    const at = CALLS.calls + ((calls.length - 1) % PLACES) * CALL_SIZE
    let end = at + CALL.texts
    const limit = end + TEXT_SIZE
    let place = (at + CALL.sizes) >> 2
    const add = (text: string, most: number): void => {
      const size = writeText(memory, text, end, Math.min(most, limit - end))
      words[place++] = size
      end += size
    }
    add(call.kernel, MOST_NAME)
    add(call.convention, MOST_NAME)
    add(call.types.join('\n'), MOST_TYPES)
    add(callerStack(), TEXT_SIZE)
    words[(at + CALL.depth) >> 2] = calls.length
    words[CALLS.depth >> 2] = calls.length
  }

  const end = (message: unknown): void => {
    // A call whose end could not be published, because the stack was full, ends with the call around.
    const index = calls.lastIndexOf(message as CallTrace)
    if (index === -1) return
    calls.length = index
    words[CALLS.depth >> 2] = index
  }

  channel('tracing:tenon:call:start').subscribe(start)
  channel('tracing:tenon:call:end').subscribe(end)
  return memory
}

/** Writes a text. One that does not fit ends with dots. @returns the number of bytes */
function writeText(memory: Buffer, text: string, at: number, capacity: number): number {
  const size = memory.write(text, at, capacity, 'utf8')
  // A character that does not fit is left out as a whole.
  if (size <= capacity - 4 || size === Buffer.byteLength(text)) return size
  const start = memory.write(text, at, capacity - 3, 'utf8')
  return start + memory.write('...', at + start, 3, 'latin1')
}

/**
 * The directory of the packages in a checkout, as a URL and as the path that Bun writes. In a bundle, the frames of Tenon are among those of
 * the program.
 */
function packagesDirectory(): string[] {
  try {
    const own = new URL('../', import.meta.url).href.replace(/src\/$/, '')
    if (!own.endsWith('/core/')) return []
    const packages = new URL('../', own)
    return [packages.href, fileURLToPath(packages)]
  } catch {
    return []
  }
}

const PACKAGES = packagesDirectory()
const PACKAGE = /^(?:core|custom-call|packed-func|tensorflow|scope|nnapi|isolate|tenon)\/(?:src|dist)\//
const INSTALLED = /\/node_modules\/(?:@tenon\/[\w-]+|tenon)\/(?:src|dist)\//
/** Events are published through functions of this module. In Bun, their frames are among those of Tenon. */
const PUBLISHER = '(node:diagnostics_channel:'

/** The length of what each frame begins with. */
const FRAME_PREFIX = '    at '.length

/** The frames of JavaScript around a call, innermost first, one in each line. Those of Tenon and inside of Node.js are left out. */
function callerStack(): string {
  const lines = currentStack().split('\n')
  let index = 1
  while (index < lines.length && isOwn(lines[index]!)) index++
  let text = ''
  for (; index < lines.length; index++) {
    const line = lines[index]!
    if (!line.includes('node:internal/')) text += `${text === '' ? '' : '\n'}${line.slice(FRAME_PREFIX)}`
  }
  return text
}

function isOwn(line: string): boolean {
  if (line.includes(PUBLISHER)) return true
  const directory = PACKAGES.find((one) => line.includes(one))
  if (directory === undefined) return INSTALLED.test(line)
  return PACKAGE.test(line.slice(line.indexOf(directory) + directory.length))
}

/**
 * The stack around the events of a call, as the engine writes it. Functions of the program that write it otherwise are not called, unless
 * it has frozen `Error`.
 */
function currentStack(): string {
  const { stackTraceLimit, prepareStackTrace } = Error
  Reflect.set(Error, 'stackTraceLimit', MOST_FRAMES)
  Reflect.set(Error, 'prepareStackTrace', undefined)
  try {
    // All events of a call are published by this function.
    const { stack } = captureStack(traceCall)
    // Another copy of this package has published the event.
    return stack.includes('\n') ? stack : captureStack(undefined).stack
  } catch {
    return ''
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
  }
}

/** @param above the function whose frame is left out, with those that it has called */
function captureStack(above: ((...args: never[]) => unknown) | undefined): { readonly stack: string } {
  const holder = { stack: '' }
  Error.captureStackTrace(holder, above)
  return holder
}
