import { addressOf, checkStatus, coreFunctions, lastError, statusName } from '@tenon/core/internal'
import type { TenonError } from '@tenon/core'
import { takeThrown } from '../errors/thrown.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import type { XlaFailure } from '../errors/xla-error.ts'
import { STAGES } from './descriptor.ts'

/** What another process reports about a call that failed there. */
export interface ReportedFailure {
  /** The symbol or registered name of the target. */
  readonly target: string
  readonly isTyped: boolean
  /** The status of the call. */
  readonly status: number
  readonly xlaCode: number
  /** The number of the stage in the ABI. */
  readonly stage: number
  /** The message, or the text of the guard for a C++ exception. */
  readonly text: string
  /** What a kernel in TypeScript threw. */
  readonly cause?: unknown
}

const UNKNOWN = 2
const RESOURCE_EXHAUSTED = 8
const INTERNAL = 13

/** The out-parameters: the length of the message, then code and stage. */
const out = new BigUint64Array(2)
const codeAndStage = new Int32Array(out.buffer, 8, 2)
let message = Buffer.from(new ArrayBuffer(4096))

export function readFailure(call: number, status: number, target: string, batchIndex?: number): TenonError {
  const name = statusName(status)
  if (name !== 'KERNEL_FAILED' && name !== 'EXCEPTION') return coreError(status, target)
  const { tn_xla_failure: failure } = coreFunctions()
  const text = copyMessage((at, capacity, length) => failure(call, length + 8, length + 12, at, capacity, length))
  const [xlaCode, stage] = codeAndStage as unknown as [number, number]
  const cause = name === 'KERNEL_FAILED' ? takeThrown(text) : undefined
  return typedError(name, { xlaCode, target, stage: STAGES[stage] ?? 'execute', batchIndex, text, cause })
}

function typedError(status: string, failure: XlaFailure): TenonError {
  if (status === 'KERNEL_FAILED') return xlaError(failure)
  return xlaError({ ...failure, ...splitException(failure.text.replace(/^XLA FFI call failed: /, '')) })
}

/** Makes the error of a call that failed in another process, as a call in this process throws it. */
export function reportedError({ target, isTyped, status, xlaCode, stage, text, cause }: ReportedFailure): TenonError {
  const name = statusName(status)
  if (isTyped) return typedError(name, { xlaCode, target, stage: STAGES[stage] ?? 'execute', text, cause })
  return untypedError(name, { xlaCode: INTERNAL, target, stage: 'execute', text })
}

/**
 * Reads the error of an untyped call whose status is not OK. A failure that such a function sets has no code, so it becomes
 * INTERNAL, as in XLA. On devices XLA puts words in front.
 */
export function readUntypedFailure(
  call: number,
  status: number,
  target: string,
  onDevice: boolean,
  batchIndex?: number,
): TenonError {
  const name = statusName(status)
  if (name !== 'KERNEL_FAILED' && !isException(name)) return coreError(status, target)
  const { tn_xla_untyped_failure: untypedFailure } = coreFunctions()
  const text = copyMessage((at, capacity, length) => untypedFailure(call, at, capacity, length))
  const common = { xlaCode: INTERNAL, target, stage: 'execute', batchIndex } as const
  return untypedError(name, { ...common, text: onDevice && !isException(name) ? `CustomCall failed: ${text}` : text })
}

function untypedError(status: string, failure: XlaFailure): TenonError {
  if (!isException(status)) return xlaError(failure)
  return xlaError({ ...failure, xlaCode: codeOf(status), ...splitException(failure.text) })
}

/** Whether a guarded function threw. A `std::bad_alloc` has a status of its own. */
const isException = (name: string): boolean => name === 'EXCEPTION' || name === 'OUT_OF_MEMORY'

const codeOf = (name: string): number => (name === 'OUT_OF_MEMORY' ? RESOURCE_EXHAUSTED : UNKNOWN)

/** Splits what the guard makes of an exception: "text (type)", or only the type. Types can contain parentheses, too. */
function splitException(thrown: string): Pick<XlaFailure, 'text' | 'exceptionType'> {
  if (!thrown.endsWith(')')) return { text: thrown, exceptionType: thrown }
  let depth = 0
  for (let i = thrown.length - 1; i > 0; i--) {
    if (thrown[i] === ')') depth++
    if (thrown[i] === '(' && --depth === 0 && thrown[i - 1] === ' ') {
      return { text: thrown.slice(0, i - 1), exceptionType: thrown.slice(i + 1, -1) }
    }
  }
  return { text: thrown, exceptionType: thrown }
}

/** Checks the status of a function that leaves the text of a handler's error as the last error. @throws {XlaError} */
export function checkAnswer(status: number, xlaCode: number, target: string): void {
  if (status === 0) return
  if (statusName(status) !== 'KERNEL_FAILED') throw coreError(status, target)
  throw xlaError({ xlaCode, text: lastError(), target, stage: 'execute' })
}

function coreError(status: number, target: string): TenonError {
  if (statusName(status) === 'EXCEPTION') {
    return xlaError({ xlaCode: UNKNOWN, target, stage: 'execute', ...splitException(lastError()) })
  }
  try {
    checkStatus(status, `calling ${target}`)
  } catch (error) {
    return error as TenonError
  }
  throw new TypeError(`status ${status} is not a failure`)
}

/** @param read copies a message to an address, up to a capacity, and writes its whole length to another address. */
function copyMessage(read: (at: number, capacity: number, length: number) => number): string {
  const lengthAt = addressOf(out)
  for (;;) {
    checkStatus(read(addressOf(message), message.length, lengthAt), 'reading the failure of a call')
    const length = Number(out[0])
    if (length <= message.length) return message.toString('utf8', 0, length)
    message = Buffer.from(new ArrayBuffer(length))
  }
}
