import type { CallTrace } from '@tenon/core'
import type { CallPriority, Gated, RemoteAnswer, RemoteKernel, RemoteWorker, SharedChunk } from '@tenon/core/internal'

/** A range of shared memory; null for an operand that is missing, whose pointer is null in the worker. */
export type WorkerOperand = {
  readonly chunk: SharedChunk
  /** From the start of the chunk, in bytes. */
  readonly offset: number
  /** In bytes. */
  readonly length: number
  /** Whether the kernel writes to it. */
  readonly isWritten: boolean
  /** The layout of the strings of a result, as flags of the operand; 0 for numbers. */
  readonly strings?: number
} | null

/**
 * The details that errors of a call have besides their own, if a worker had the call. Errors of a call that still waited for a
 * worker have `kernel` and `output`.
 */
export interface WorkerDetails {
  /** The name of the kernel. */
  readonly kernel: string
  /** The worker that had the call. */
  readonly worker: RemoteWorker
  /** What the worker wrote to stdout and stderr during the call, at most 64 KiB. */
  readonly output: string
}

/** A part of a value that the worker keeps, and the range of memory to which it is copied. */
export interface KeptPart {
  readonly target: Exclude<WorkerOperand, null>
  /** The contents of the body of the request. */
  readonly body: Uint8Array
}

/** One call of a kernel in a worker. Its functions run on the thread that made the call. */
export interface WorkerCall<T = unknown> {
  readonly kernel: RemoteKernel
  /** The operands, and then the results. */
  readonly operands: readonly WorkerOperand[]
  /** The arguments of a packed function or of a function of C. */
  readonly body?: Uint8Array | undefined
  /** The types of the operands, which are read only if the call is traced. */
  readonly types?: CallTrace['types'] | undefined
  /** The lifetimes that own the operands. They are held once, until the call has settled and the worker has answered or ended. */
  readonly gated?: readonly Gated[] | undefined
  /** In milliseconds from the call; `Infinity` for none. */
  readonly deadline?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly priority?: CallPriority | undefined
  /** Calls with the same key run in the same worker. */
  readonly affinity?: string | undefined
  /** The worker that must run the call, because it has memory of that worker. It wins over `affinity`. */
  readonly worker?: RemoteWorker | undefined
  /** Whether the call may run again on another worker if the first one crashed. */
  readonly idempotent?: boolean | undefined
  /** The number of bytes that were copied into shared memory for this call. */
  readonly copiedBytes?: number | undefined
  /**
   * Returns where parts of a kept value are copied to. For an answer whose `value` is not 0, this function is called before
   * {@link read}, and again after each part has been filled, until it returns no more parts.
   */
  readonly parts?: ((answer: RemoteAnswer) => readonly KeptPart[]) | undefined
  /** Describes the operands, the results and the attributes, without their contents, for the error of a crash. It may throw. */
  describeArguments?(): readonly string[]
  /** Returns the result. Called once, for an answer without error. */
  read(answer: RemoteAnswer, worker: RemoteWorker): T
  /** Returns the error that the kernel reported itself. */
  failure(answer: RemoteAnswer, details: WorkerDetails): Error
  /** Runs a function of this thread that the kernel calls. It returns an error as bytes, at most `TN_HOST_BODY_SIZE`. */
  readonly callBack?: ((body: Uint8Array) => Uint8Array) | undefined
  /**
   * Called once when the call has settled and the worker has answered or ended, after the lifetimes were left, or when the call is
   * refused.
   */
  released?(): void
}
