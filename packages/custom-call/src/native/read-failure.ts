import { addressOf, checkStatus, lastError, statusName } from '@tenon/core/internal'
import type { TenonError } from '@tenon/core'
import type { Stage } from '../errors/xla-error.ts'
import { xlaError } from '../errors/xla-error-classes.ts'
import { coreFunctions } from './core-functions.ts'

const STAGES: readonly Stage[] = ['instantiate', 'prepare', 'initialize', 'execute']

/** Out-parameters: the length of the message, then code and stage. */
const out = new BigUint64Array(2)
const codeAndStage = new Int32Array(out.buffer, 8, 2)
let message = Buffer.from(new ArrayBuffer(4096))

/** The error of a typed call that ended with a status other than OK. */
export function readFailure(call: number, status: number, target: string): TenonError {
  const name = statusName(status)
  if (name !== 'KERNEL_FAILED' && name !== 'EXCEPTION') return coreError(status, target)
  const text = copyMessage(call)
  const [xlaCode, stage] = codeAndStage as unknown as [number, number]
  const exception = name === 'EXCEPTION'
  return xlaError({
    xlaCode,
    text: exception ? text.replace(/^XLA FFI call failed: /, '') : text,
    target,
    stage: STAGES[stage] ?? 'execute',
    exception,
  })
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

function copyMessage(call: number): string {
  const { failure } = coreFunctions()
  const at = addressOf(out)
  for (;;) {
    checkStatus(failure(call, at + 8, at + 12, addressOf(message), message.length, at), 'reading the failure of a call')
    const length = Number(out[0])
    if (length <= message.length) return message.toString('utf8', 0, length)
    message = Buffer.from(new ArrayBuffer(length))
  }
}
