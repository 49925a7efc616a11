import type { Tensor, TenonError } from '@tenon/core'
import { Cleaner, type Gate, type Gated } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import { checkAnswer } from '../native/read-failure.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** The tensors of one run. */
export type Tensors = readonly Tensor[]

/** The native side of a call or of a batch. */
export interface Runnable {
  /** The symbol or registered name, for messages. */
  readonly name: string
  /** The kind of its frames, one of the constants `TN_XLA_JOB_*`. */
  readonly kind: number
  /** The streams of the work. The operands of a run stay open until the work is done. */
  readonly streams: readonly DeviceStream[]
  /** Keeps the operands of a run on this thread open until the work on the streams is done. */
  keep(list: readonly Gated[]): void
  /** Makes the error of a run that did not end with 0. @param batchIndex the index of the call in its batch. */
  failure(frame: CallFrame, status: number, batchIndex?: number): TenonError
}

/** The native side of a prepared call: a typed handler's frame, or an untyped function's pointers. */
interface TargetFacts extends Pick<Runnable, 'name' | 'kind' | 'failure'> {
  readonly gate: Gate
  readonly frame: CallFrame
  /** The stream of the call's work, if it is an object. */
  readonly stream: DeviceStream | undefined
  /** Whether the work on a stream can be captured once and replayed. */
  readonly isCapturable?: boolean
  /** Lays out another frame for the same call, with pointers of its own. */
  extend(): CallFrame
  /** Frees what native code keeps for the call, and returns the status. It must not reach the target. */
  readonly free: (() => number) | undefined
}

/** Frees what native code keeps for calls that were dropped without being closed. */
const dropped = new Cleaner<() => number>((free) => void free())

const NO_STREAMS: readonly DeviceStream[] = Object.freeze([])

/** The target of a prepared call. All targets have one class, because the members of objects of several shapes cost more to read. */
export class CallTarget implements Runnable {
  readonly name: string
  readonly kind: number
  readonly gate: Gate
  readonly frame: CallFrame
  readonly streams: readonly DeviceStream[]
  readonly isCapturable: boolean
  readonly extend: TargetFacts['extend']
  readonly failure: TargetFacts['failure']
  readonly #free: TargetFacts['free']

  constructor({ name, kind, gate, frame, stream, isCapturable = false, extend, failure, free }: TargetFacts) {
    this.name = name
    this.kind = kind
    this.gate = gate
    this.frame = frame
    this.streams = stream === undefined ? NO_STREAMS : [stream]
    this.isCapturable = isCapturable
    this.extend = extend
    this.failure = failure
    this.#free = free
    if (free !== undefined) dropped.watch(this, free, this)
  }

  keep(list: readonly Gated[]): void {
    for (const stream of this.streams) stream.keep?.(list.slice(FIRST_TENSOR))
  }

  /** Frees what native code keeps for the call. */
  close(): void {
    if (this.#free === undefined) return
    dropped.forget(this)
    checkAnswer(this.#free(), 0, this.name)
  }
}
