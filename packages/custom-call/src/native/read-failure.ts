import type { TenonError } from '@tenon/core'
import { addressOf, checkStatus, coreFunctions, lastError, statusName } from '@tenon/core/internal'
import { takeThrown } from '../errors/thrown.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import type { XlaFailure } from '../errors/xla-error.ts'
import { STAGES } from './descriptor.ts'

/** The conventions of calls by the errors that they can report. */
export type FailingConvention = 'typed' | 'untyped' | 'device'

/** What native code reports about a call that failed, in this process or in another one. */
export interface CallFailure extends Pick<XlaFailure, 'target' | 'text' | 'batchIndex' | 'cause'> {
  readonly convention: FailingConvention
  /** The status of the core. */
  readonly status: number
  /** The code of a typed call; by default UNKNOWN. */
  readonly xlaCode?: number | undefined
  /** The number of the stage in the ABI; by default that of execute. */
  readonly stage?: number
}

const UNKNOWN = 2
const RESOURCE_EXHAUSTED = 8
const INTERNAL = 13

const EXECUTE = STAGES.indexOf('execute')

/** How a status of the core becomes an error of XLA. */
interface FailureRow {
  /** The code of the error; undefined for the code of the failure. */
  readonly xlaCode?: number
  /** The text in front of the message, as XLA writes it. */
  readonly prefix?: string
  /** Whether the text is what the guard makes of a C++ exception. */
  readonly isException?: boolean
}

const THROWN: FailureRow = { isException: true }
const THROWN_BAD_ALLOC: FailureRow = { xlaCode: RESOURCE_EXHAUSTED, isException: true }

/** The statuses of calls that fail themselves. All others are errors of the core. A failure of an untyped function has no code. */
const FAILURES: Readonly<Record<FailingConvention, { readonly [status: string]: FailureRow }>> = {
  typed: { KERNEL_FAILED: {}, EXCEPTION: THROWN },
  untyped: { KERNEL_FAILED: { xlaCode: INTERNAL }, EXCEPTION: THROWN, OUT_OF_MEMORY: THROWN_BAD_ALLOC },
  device: {
    KERNEL_FAILED: { xlaCode: INTERNAL, prefix: 'CustomCall failed: ' },
    EXCEPTION: THROWN,
    OUT_OF_MEMORY: THROWN_BAD_ALLOC,
  },
}

/** Makes the error of a call that failed. */
export function callError(failure: CallFailure): TenonError {
  const { convention, status, target, text, batchIndex, cause, stage = EXECUTE } = failure
  const row = FAILURES[convention][statusName(status)]
  if (row === undefined) return coreError(status, target)
  const { xlaCode = failure.xlaCode ?? UNKNOWN, prefix = '', isException = false } = row
  const words = isException ? splitException(text) : { text: prefix + text }
  return xlaError({ xlaCode, target, stage: STAGES[stage] ?? 'execute', batchIndex, cause, ...words })
}

/** The out-parameters: the length of the message, then code and stage. */
const out = new BigUint64Array(2)
const codeAndStage = new Int32Array(out.buffer, 8, 2)
let message = Buffer.from(new ArrayBuffer(4096))

/**
 * Reads the error of a call whose status is not OK, and frees what native code keeps of it.
 *
 * @param call the address of its frame.
 */
export function readFailure(
  convention: FailingConvention,
  call: number,
  status: number,
  target: string,
  batchIndex?: number,
): TenonError {
  const failure = { convention, status, target, batchIndex }
  if (FAILURES[convention][statusName(status)] === undefined) return callError({ ...failure, text: '' })
  const functions = coreFunctions()
  if (convention !== 'typed') {
    const read = functions.tn_xla_untyped_failure
    return callError({ ...failure, text: copyMessage((at, capacity, length) => read(call, at, capacity, length)) })
  }
  const read = functions.tn_xla_failure
  const text = copyMessage((at, capacity, length) => read(call, length + 8, length + 12, at, capacity, length))
  const [xlaCode, stage] = codeAndStage as unknown as [number, number]
  return callError({ ...failure, text, xlaCode, stage, cause: takeThrown(text) })
}

/** Checks the status of a function that leaves the text of a handler's error as the last error. @throws {XlaError} */
export function checkAnswer(status: number, xlaCode: number, target: string): void {
  if (status === 0) return
  const code = statusName(status) === 'KERNEL_FAILED' ? xlaCode : undefined
  throw callError({ convention: 'typed', status, xlaCode: code, text: lastError(), target })
}

/** Splits what the guard makes of an exception: "text (type)", or only the type. Types can contain parentheses, too. */
function splitException(guarded: string): Pick<XlaFailure, 'text' | 'exceptionType'> {
  const thrown = guarded.replace(/^XLA FFI call failed: /, '')
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

function coreError(status: number, target: string): TenonError {
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
