/**
 * The interface between conventions and the processes that run their kernels. A convention describes a call: its kernel, its operands and
 * how answers are read. A host stages the operands in shared memory and runs the call.
 */
import type { NativeAllocator } from '../memory/native-allocator.ts'
import type { Gate, Gated } from '../memory/lifetime.ts'
import type { RemoteWorker } from '../memory/pointer-address.ts'
import type { Segment } from '../memory/segment.ts'
import type { CallTrace } from '../tracing/call-trace.ts'
import type { TensorType } from '../types/tensor-type.ts'
import type { Tensor } from '../types/tensor.ts'

/** The priority of a call among those that wait for a worker. */
export type CallPriority = 'low' | 'medium' | 'high'

/** The options of a call that runs in a worker, of every kind. */
export interface IsolatedRunOptions {
  /**
   * The longest time for the call in milliseconds, with the time in the queue; `Infinity` for none. The default is the deadline of
   * the library.
   */
  readonly deadline?: number
  /** Takes back a call that waits. A call that runs is cancelled, and its worker ends if the kernel does not return. */
  readonly signal?: AbortSignal
  /** The priority among the calls that wait for a worker. The default is `medium`. */
  readonly priority?: CallPriority
  /** Calls with the same key run in the same worker, which keeps the state of their handlers. */
  readonly affinity?: string
  /** Whether the call may run once more on another worker if the first worker crashed. The default is that of the library. */
  readonly idempotent?: boolean
}

/** The names of {@link IsolatedRunOptions}. */
export const RUN_OPTIONS: readonly (keyof IsolatedRunOptions)[] = [
  'deadline',
  'signal',
  'priority',
  'affinity',
  'idempotent',
]

/**
 * A kernel as another process prepares it. Its identity is that of the object: a worker prepares each object once, when it is first
 * called there, and keeps it and its state until {@link RemoteHost.forget}.
 */
export interface RemoteKernel {
  /** The name for messages. */
  readonly name: string
  /** The absolute path of the library. */
  readonly library: string
  /** See {@link RemoteHost.file}. */
  readonly file?: (() => string | undefined) | undefined
  /** The calling convention, `TN_HOST_XLA` and so on. */
  readonly convention: number
  /** The symbols of the stages instantiate, prepare, initialize and execute. A missing stage is an empty string. */
  readonly symbols: readonly [instantiate: string, prepare: string, initialize: string, execute: string]
  /** The number of operands of a call, without the results. */
  readonly operands: number
  readonly results: number
  /** The bytes whose meaning the convention defines. */
  readonly descriptor: Uint8Array
  /** Returns the attributes for messages, as `name = value`. It may throw. */
  readonly attributes?: () => readonly string[]
}

/** An operand of a call, and how the other process needs it. */
export interface RemoteOperand {
  /** Undefined for scratch memory of the call. */
  readonly tensor: Tensor | undefined
  /** The type in the other process. It differs from that of the tensor if the layout does. */
  readonly type: TensorType
  /** Whether the kernel writes to it. */
  readonly isWritten: boolean
}

/** The answer of a process: a copy, which the process can no longer change. Its contents are not trusted. */
export interface RemoteAnswer {
  /** A status of the core. */
  readonly status: number
  /** The code of the kernel's own error. */
  readonly code: number
  /** The origin of an error, `TN_HOST_XLA_ERROR` and so on. */
  readonly error: number
  /** The id of a value that the process keeps; 0 for none. */
  readonly value: number
  /** Whether the result does not fit into the body, so that it is a part of the kept value. */
  readonly isLong: boolean
  /** Whether the body ends with the list of the results whose strings are parts of the kept value. */
  readonly hasStrings: boolean
  /** At most `TN_HOST_BODY_SIZE` bytes. */
  readonly body: Uint8Array
  /** The time that the kernel took, in nanoseconds. */
  readonly nativeTime: number
}

/** A part of a value that the process keeps, and the memory of {@link RemoteHost.allocator} to which it is copied. */
export interface RemotePart {
  readonly target: Segment
  /** The contents of the body of the request. */
  readonly body: Uint8Array
}

/** One call of a kernel in another process. Its functions run on the thread that made the call. */
export interface RemoteCall<T = void> {
  readonly kernel: RemoteKernel
  /** The operands, and then the results; null for one that has no memory. They are open, and checked. */
  readonly operands: readonly (RemoteOperand | null)[]
  /** The arguments of a packed function or of a function of C, or the dimensions of all tensors of a custom call. */
  readonly body?: Uint8Array | undefined
  /** Returns the types of the arguments, for traces and errors of crashes, if they are not those of the operands. */
  types?(): CallTrace['types']
  /** The process that must run the call, because its arguments are pointers of that process. */
  readonly worker?: RemoteWorker | undefined
  /** The lifetimes of those pointers, which are held like those of operands. */
  readonly pointers?: readonly Gated[]
  /** Options that were read once. The host checks them. */
  readonly options: IsolatedRunOptions
  /**
   * Returns where parts of a kept value are copied to. For an answer whose `value` is not 0, this function is called before
   * {@link read}. It is called again after each part has been filled, until it returns no more parts.
   */
  readonly parts?: (answer: RemoteAnswer) => readonly RemotePart[]
  /** Returns the result. Called once, for an answer without error. */
  read(answer: RemoteAnswer, worker: RemoteWorker): T
  /** Returns the error that the kernel reported, or undefined for one that does not depend on the convention. */
  failure(answer: RemoteAnswer): Error | undefined
  /** Runs a function of this thread that the kernel calls. It returns an error as bytes, at most `TN_HOST_BODY_SIZE`. */
  readonly callBack?: (body: Uint8Array) => Uint8Array
  /** Called once when the call is over, or was refused. */
  ended?(): void
}

/** Processes that run the kernels of one library. */
export interface RemoteHost {
  /** The absolute path of the library. */
  readonly path: string
  /** Returns the identity of the file that all workers load, which they compare. Without it they load the file that is there. */
  readonly file?: (() => string | undefined) | undefined
  /** The gate of the library. */
  readonly gate: Gate
  /** The memory in which results lie. Tensors in it are not copied. */
  readonly allocator: NativeAllocator
  /** Makes a tensor of zeros in that memory. @throws {AllocationError} if there is not enough memory. @throws {ScopeClosedError} */
  newTensor(type: TensorType): Tensor
  /** Whether packed functions may call functions of this process. */
  readonly isRelaying: boolean
  /** @throws {ArgumentError | ArgumentRangeError} if an option is not valid. */
  checkRunOptions(options: IsolatedRunOptions): void
  /** Runs a call, and blocks this thread until it is over. @throws {TenonError} the error of the call. */
  run<T>(call: RemoteCall<T>): T
  /** Runs a call without blocking. */
  runAsync<T>(call: RemoteCall<T>): Promise<T>
  /** Runs several calls, each of which is made when its turn comes. One that cannot be made is rejected alone. */
  runBatch<T>(calls: readonly (() => RemoteCall<T>)[]): Promise<PromiseSettledResult<T>[]>
  /** Whether a process still runs. */
  hasWorker(worker: RemoteWorker): boolean
  /** Releases a kernel and its state. */
  forget(kernel: RemoteKernel): void
}
