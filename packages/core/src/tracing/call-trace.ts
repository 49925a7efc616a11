import type { KernelConvention } from '../signatures/kernel-signature.ts'
import { Tensor } from '../types/tensor.ts'
import type { TensorType } from '../types/tensor-type.ts'

/**
 * The message of the tracing channel `tenon:call` of `node:diagnostics_channel`. All events of one call have the same object. It has no
 * contents of operands and results.
 *
 * | event      | is published                                                                                   |
 * | ---------- | ---------------------------------------------------------------------------------------------- |
 * | `start`    | before the operands are checked, so a subscriber may call functions and close what is open     |
 * | `end`      | after a synchronous call, also one that threw; for an asynchronous call, once it was submitted |
 * | `asyncEnd` | after an asynchronous call has settled, directly behind `asyncStart`                           |
 * | `error`    | if the call failed, before `end` of a synchronous and `asyncStart` of an asynchronous call     |
 *
 * @example
 * import { tracingChannel } from 'node:diagnostics_channel'
 * import type { CallTrace } from '@tenon/core'
 * const start = (): void => {}
 * const end = ({ kernel, runTime }: CallTrace): void => console.log(`${kernel} took ${runTime} ns`)
 * const subscribers = { start, end, asyncStart() {}, asyncEnd: end, error() {} }
 * const calls = tracingChannel<object, CallTrace>('tenon:call')
 * calls.subscribe(subscribers)
 * calls.unsubscribe(subscribers) // true
 */
export interface CallTrace {
  /** The name of the kernel or function. */
  readonly kernel: string
  /** The convention of the kernel. A batch has the names of its kernels, with commas. */
  readonly convention: KernelConvention | 'function' | 'batch' | 'script' | 'nnapi'
  /** The types of the operands. A value other than a tensor has a name, such as `int` or `pointer`. */
  readonly types: readonly (TensorType | string)[]
  readonly isAsync: boolean
  /** The time of the call, in milliseconds of `performance.now()`. It is 0 until `start` was published. */
  startTime: number
  /**
   * The time that the call waited for a worker, or in this process for a thread, in nanoseconds. It is 0 for synchronous calls of this process, and
   * where the time is not known: on Windows, and for a call that ends on another thread than it began on.
   */
  queueTime: number
  /**
   * The time in nanoseconds from the start of the call to its end, without the time in the queue. For a kernel in another process, the time
   * that the worker took, or 0 if it did not answer.
   */
  runTime: number
  /** The bytes of operands that were copied for the call, into shared memory or into another layout. */
  copiedBytes: number
  /** The id of the process that ran the call, 0 if no worker got it, and undefined for a call in this process. */
  worker: number | undefined
  /** The error of the call, if it failed. */
  error: unknown
}

/** Returns the type of a value in messages. No code of the user runs, such as a trap of a Proxy. */
export function typeOf(value: unknown): TensorType | string {
  switch (typeof value) {
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float'
    case 'bigint':
      return 'int'
    case 'boolean':
      return 'bool'
    case 'string':
      return 'str'
    case 'object':
      if (value === null) return 'None'
      if (Tensor.isGenuine(value)) return value.type
      return ArrayBuffer.isView(value) ? 'bytes' : 'object'
    default:
      return typeof value === 'undefined' ? 'None' : typeof value
  }
}

/** Returns the types of values in messages. */
export function typesOf(values: readonly unknown[]): CallTrace['types'] {
  const types: (TensorType | string)[] = []
  for (let i = 0; i < values.length; i++) types.push(typeOf(values[i]))
  return types
}

/** Makes the message of a call that has not begun. */
export function newTrace(
  kernel: string,
  convention: CallTrace['convention'],
  types: CallTrace['types'],
  isAsync: boolean,
): CallTrace {
  return {
    kernel,
    convention,
    types,
    isAsync,
    startTime: 0,
    queueTime: 0,
    runTime: 0,
    copiedBytes: 0,
    worker: undefined,
    error: undefined,
  }
}
