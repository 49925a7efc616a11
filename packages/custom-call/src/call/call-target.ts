import type { CallTrace, Tensor, TenonError } from '@tenon/core'
import { Cleaner, type Gate, type Gated } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import { checkAnswer } from '../native/read-failure.ts'
import type { DeviceStream } from '../targets/call-resources.ts'
import type { DeviceScratch } from './device-scratch.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** The tensors of one run. */
export type Tensors = readonly Tensor[]

/** The native side of a call or of a batch. */
export interface Runnable {
  /** The symbol or registered name, for messages. */
  readonly name: string
  /** The convention of its calls, for tracing. */
  readonly convention: CallTrace['convention']
  /** The kind of its frames, one of the constants `TN_XLA_JOB_*`. */
  readonly kind: number
  /** The streams of the work. The operands of a run stay open until the work is done. */
  readonly streams: readonly DeviceStream[]
  /** Keeps the operands of a run on this thread open until the work on the streams is done. */
  keep(list: readonly Gated[]): void
  /** Makes the error of a run that did not end with 0. @param batchIndex the index of the call in its batch. */
  failure(frame: CallFrame, status: number, batchIndex?: number): TenonError
}

/** The state that native code keeps for a call. The target does not see it. */
export interface Remains {
  /** The scratch of the call on a device. */
  readonly scratch?: DeviceScratch | undefined
  /** Frees it, and returns the status. */
  free(): number
}

/** Frees what native code keeps for calls that were dropped without being closed. */
const dropped = new Cleaner<Remains>((remains) => void remains.free())

const NO_STREAMS: readonly DeviceStream[] = Object.freeze([])

/** The target of a prepared call: a typed handler's frame, or an untyped function's pointers. */
export abstract class CallTarget implements Runnable {
  readonly name: string
  abstract readonly convention: CallTrace['convention']
  readonly kind: number
  readonly gate: Gate
  /** The frame of runs on this thread. */
  readonly frame: CallFrame
  readonly streams: readonly DeviceStream[]
  readonly #remains: Remains | undefined

  constructor(
    name: string,
    kind: number,
    gate: Gate,
    frame: CallFrame,
    stream: DeviceStream | undefined,
    remains: Remains | undefined,
  ) {
    this.name = name
    this.kind = kind
    this.gate = gate
    this.frame = frame
    this.streams = stream === undefined ? NO_STREAMS : [stream]
    this.#remains = remains
    if (remains !== undefined) dropped.watch(this, remains, this)
  }

  /** Whether the frames of the call can run tensors of other sizes, if they are all that the frames contain. */
  get isResizable(): boolean {
    return true
  }

  /** Whether the work on a stream can be captured once and replayed. */
  get isCapturable(): boolean {
    return false
  }

  /** Lays out another frame for the same call, with pointers of its own. */
  abstract extend(): CallFrame

  /** Frees the scratch on a device of a frame of {@link extend}, which does not run again. */
  drop(frame: CallFrame): void {
    this.#remains?.scratch?.free(frame)
  }

  protected get scratch(): DeviceScratch | undefined {
    return this.#remains?.scratch
  }

  abstract failure(frame: CallFrame, status: number, batchIndex?: number): TenonError

  keep(list: readonly Gated[]): void {
    for (const stream of this.streams) stream.keep?.(list.slice(FIRST_TENSOR))
  }

  /** Frees what native code keeps for the call. */
  close(): void {
    if (this.#remains === undefined) return
    dropped.forget(this)
    checkAnswer(this.#remains.free(), 0, this.name)
  }
}
