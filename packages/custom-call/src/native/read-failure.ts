import { addressOf, checkStatus, lastError, statusName } from '@tenon/core/internal'
import type { TenonError } from '@tenon/core'
import type { Stage } from '../errors/xla-error.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import { takeThrown } from '../targets/thrown.ts'
import { coreFunctions } from './core-functions.ts'

const INTERNAL = 13

/** The stages, as the ABI numbers them. */
export const STAGES: readonly Stage[] = ['instantiate', 'prepare', 'initialize', 'execute']

/** Out-parameters: the length of the message, then code and stage. */
const out = new BigUint64Array(2)
const codeAndStage = new Int32Array(out.buffer, 8, 2)
let message = Buffer.from(new ArrayBuffer(4096))

/** The error of a typed call that ended with a status other than OK. */
export function readFailure(call: number, status: number, target: string, batchIndex?: number): TenonError {
  const name = statusName(status)
  if (name !== 'KERNEL_FAILED' && name !== 'EXCEPTION') return coreError(status, target)
  const { failure } = coreFunctions()
  const text = copyMessage((at, capacity, length) => failure(call, length + 8, length + 12, at, capacity, length))
  const [xlaCode, stage] = codeAndStage as unknown as [number, number]
  const exception = name === 'EXCEPTION'
  const cause = takeThrown(text)
  return xlaError({
    xlaCode,
    ...(cause === undefined ? {} : { cause }),
    text: exception ? text.replace(/^XLA FFI call failed: /, '') : text,
    target,
    stage: STAGES[stage] ?? 'execute',
    exception,
    batchIndex,
  })
}

/** What is known of an untyped call besides its failure. */
interface UntypedFailure {
  readonly name: string
  readonly onDevice: boolean
  readonly batchIndex: number | undefined
}

/**
 * The error of an untyped call that ended with a status other than OK. What such a function sets has no code: it is
 * INTERNAL, and on devices it gets words in front.
 */
export function readUntypedFailure(call: number, status: number, about: UntypedFailure): TenonError {
  const { name: target, onDevice, batchIndex } = about
  const name = statusName(status)
  if (name !== 'KERNEL_FAILED' && name !== 'EXCEPTION') return coreError(status, target)
  const { untypedFailure } = coreFunctions()
  const text = copyMessage((at, capacity, length) => untypedFailure(call, at, capacity, length))
  const common = { target, stage: 'execute', batchIndex } as const
  if (name === 'EXCEPTION') return xlaError({ ...common, xlaCode: 2, text, exception: true })
  return xlaError({ ...common, xlaCode: INTERNAL, text: onDevice ? `CustomCall failed: ${text}` : text })
}

/** The error of a call to the core itself. */
export function coreError(status: number, target: string): TenonError {
  if (statusName(status) === 'EXCEPTION') {
    return xlaError({ xlaCode: 2, text: lastError(), target, stage: 'execute', exception: true })
  }
  try {
    checkStatus(status, `calling ${target}`)
  } catch (error) {
    return error as TenonError
  }
  throw new TypeError(`status ${status} is no failure`)
}

/** @param read copies a message to an address, up to a capacity, and writes its whole length to another address */
function copyMessage(read: (at: number, capacity: number, length: number) => number): string {
  const lengthAt = addressOf(out)
  for (;;) {
    checkStatus(Number(read(addressOf(message), message.length, lengthAt)), 'reading the failure of a call')
    const length = Number(out[0])
    if (length <= message.length) return message.toString('utf8', 0, length)
    message = Buffer.from(new ArrayBuffer(length))
  }
}
