import type { CallTrace } from '@tenon/core'
import { CONSTANTS, enterAll, exitAll, type CallPriority, type RemoteAnswer } from '@tenon/core/internal'
import type { Queued } from './call-queue.ts'
import type { Known } from './known-objects.ts'
import type { WorkerCall } from './worker-call.ts'

/** What becomes of a call while it is in a queue or a worker. It holds the operands of the call. */
export class Execution<T = unknown> implements Queued {
  readonly operation: number = CONSTANTS.TN_HOST_RUN
  readonly call: WorkerCall<T>
  /** In the order of the calls of all workers of this library. */
  readonly id: number
  readonly priority: CallPriority
  readonly workerIndex: number
  readonly isWarmUp: boolean
  /** The time of the call, in ms of `performance.now()`. */
  readonly startedAt: number
  /** The longest time in ms, and when it ends. */
  readonly deadline: number
  readonly deadlineAt: number
  readonly isIdempotent: boolean
  /** The other calls of a batch, which the same worker gets. Only the first one is in the queue. */
  follower: Execution | undefined
  weight = 1
  queueBefore: Queued | undefined
  queueAfter: Queued | undefined
  queueNumber = 0
  /** Whether the event loop waits for the outcome. */
  readonly isAsync: boolean
  /** Whether only the library of the kernel is loaded. */
  readonly isLoad: boolean
  /** Called when the outcome is known. */
  onSettled: (() => void) | undefined
  onAbort: (() => void) | undefined

  /** The place of the worker that has the call, or -1. */
  place = -1
  /** The slot of its last request, or -1. */
  slot = -1
  sentAt = 0
  /** The id of the process that got the call last, and the time of the kernel there in nanoseconds. */
  process = 0
  nativeTime = 0
  /** The message of the call, if it is traced. */
  trace: CallTrace | undefined
  /** When the kernel was asked to end; 0 before. */
  cancelledAt = 0
  /** The output of the worker before the call. */
  outputMark = 0
  /** How often a worker crashed in this call, and how often it was lost before the call had begun. */
  crashes = 0
  losses = 0
  /** The kernel in the worker. */
  known: Known | undefined
  /** Why memory could not be announced to the worker. */
  preparation: RemoteAnswer | undefined
  /** The ids of the operands in the worker, if the request waits for a slot. */
  memories: readonly number[] | undefined

  /** Whether the outcome is known, and whether it is an error. */
  isSettled = false
  isRejected = false
  #value: T | undefined
  #error: unknown
  #isHeld = true

  /** Enters the lifetimes of the operands. @throws {ScopeClosedError | WrongThreadError} if one of them is not open. */
  constructor(
    call: WorkerCall<T>,
    id: number,
    workerIndex: number,
    {
      deadline,
      isIdempotent,
      isAsync,
      isLoad,
      isWarmUp,
    }: Pick<Execution, 'deadline' | 'isIdempotent' | 'isAsync' | 'isLoad' | 'isWarmUp'>,
    now: number,
  ) {
    this.call = call
    this.isAsync = isAsync
    this.isLoad = isLoad
    this.isWarmUp = isWarmUp
    this.id = id
    this.priority = call.priority ?? 'medium'
    this.workerIndex = workerIndex
    this.startedAt = now
    this.deadline = deadline
    this.deadlineAt = now + deadline
    this.isIdempotent = isIdempotent
    this.follower = undefined
    this.queueBefore = undefined
    this.queueAfter = undefined
    this.onSettled = undefined
    this.onAbort = undefined
    this.trace = undefined
    this.known = undefined
    this.preparation = undefined
    this.memories = undefined
    this.#value = undefined
    const { gated } = call
    if (gated !== undefined) enterAll(gated)
  }

  /** This call and those that follow it. */
  *group(): Generator<Execution> {
    for (let execution: Execution | undefined = this as Execution; execution !== undefined;) {
      const { follower }: Execution = execution
      yield execution
      execution = follower
    }
  }

  /** The worker has ended, so the call goes on alone. */
  leaveWorker(): void {
    this.place = -1
    this.slot = -1
    this.follower = undefined
    this.weight = 1
    this.known = undefined
    this.preparation = undefined
  }

  /** Why the worker could not prepare the call, if that is the reason of its failure. */
  get unprepared(): RemoteAnswer | undefined {
    return this.preparation ?? this.known?.failure
  }

  get error(): unknown {
    return this.#error
  }

  /** The result of a call that has settled. @throws its error */
  take(): T {
    if (this.isRejected) throw this.#error
    return this.#value as T
  }

  /** Settles the call. A second outcome is ignored. */
  resolve(value: T): void {
    if (this.isSettled) return
    this.#value = value
    this.#announce()
  }

  reject(error: unknown): void {
    if (this.isSettled) return
    this.isRejected = true
    this.#error = error
    this.#announce()
  }

  #announce(): void {
    this.isSettled = true
    if (this.trace !== undefined) this.#noteTimes(this.trace)
    const { onAbort, onSettled } = this
    if (onAbort !== undefined) EventTarget.prototype.removeEventListener.call(this.call.signal!, 'abort', onAbort)
    this.onAbort = undefined
    if (onSettled !== undefined) onSettled()
  }

  #noteTimes(trace: CallTrace): void {
    const queuedUntil = this.sentAt === 0 ? performance.now() : this.sentAt
    // The followers of a batch are sent at the time of the first call.
    trace.queueTime = Math.max(Math.round((queuedUntil - this.startedAt) * 1e6), 0)
    trace.runTime = this.nativeTime
    trace.worker = this.process
  }

  /** @internal Leaves the lifetimes of the operands, once, when no worker has them any more. */
  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    const { call } = this
    if (call.gated !== undefined) exitAll(call.gated)
    call.released?.()
  }
}
