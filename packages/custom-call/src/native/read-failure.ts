import { addressOf, checkStatus, coreFunctions, lastError, statusName } from '@tenon/core/internal'
import type { TenonError } from '@tenon/core'
import { takeThrown } from '../errors/thrown.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import { STAGES } from './descriptor.ts'

const UNKNOWN = 2
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
  const exception = name === 'EXCEPTION'
  return xlaError({
    xlaCode,
    cause: takeThrown(text),
    text: exception ? text.replace(/^XLA FFI call failed: /, '') : text,
    target,
    stage: STAGES[stage] ?? 'execute',
    exception,
    batchIndex,
  })
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
  if (name !== 'KERNEL_FAILED' && name !== 'EXCEPTION') return coreError(status, target)
  const { tn_xla_untyped_failure: untypedFailure } = coreFunctions()
  const text = copyMessage((at, capacity, length) => untypedFailure(call, at, capacity, length))
  const common = { target, stage: 'execute', batchIndex } as const
  if (name === 'EXCEPTION') return xlaError({ ...common, xlaCode: UNKNOWN, text, exception: true })
  return xlaError({ ...common, xlaCode: INTERNAL, text: onDevice ? `CustomCall failed: ${text}` : text })
}

/** Checks the status of a function that leaves the text of a handler's error as the last error. @throws {XlaError} */
export function checkAnswer(status: number, xlaCode: number, target: string): void {
  if (status === 0) return
  if (statusName(status) !== 'KERNEL_FAILED') throw coreError(status, target)
  throw xlaError({ xlaCode, text: lastError(), target, stage: 'execute' })
}

function coreError(status: number, target: string): TenonError {
  if (statusName(status) === 'EXCEPTION') {
    return xlaError({ xlaCode: UNKNOWN, text: lastError(), target, stage: 'execute', exception: true })
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
