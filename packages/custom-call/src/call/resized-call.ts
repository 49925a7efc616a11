import type { TensorType } from '@tenon/core'
import type { Gate, Gated } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { CallTarget } from './call-target.ts'
import type { FrameCall } from './frames.ts'
import type { LaterRun } from './run-later.ts'

/** A prepared call whose frame can run tensors of other sizes. */
interface ResizableCall extends Pick<FrameCall, 'isAlive' | 'closeAfterRuns'> {
  readonly gate: Gate
  readonly target: CallTarget
  readonly frame: CallFrame
  withTypes(types: readonly TensorType[]): ResizedCall | undefined
  runOf(list: Gated[], user: ResizedCall): LaterRun
}

/** A prepared call that a function keeps for tensors of other sizes. It has the lifetime and the frames of that call. */
export class ResizedCall implements FrameCall {
  readonly gate: Gate
  readonly target: CallTarget
  readonly frame: CallFrame
  readonly shape: CallShape
  readonly #call: ResizableCall

  constructor(call: ResizableCall, shape: CallShape) {
    this.gate = call.gate
    this.target = call.target
    this.frame = call.frame
    this.shape = shape
    this.#call = call
  }

  get isAlive(): boolean {
    return this.#call.isAlive
  }

  closeAfterRuns(): void {
    this.#call.closeAfterRuns()
  }

  withTypes(types: readonly TensorType[]): ResizedCall | undefined {
    return this.#call.withTypes(types)
  }

  runOf(list: Gated[]): LaterRun {
    return this.#call.runOf(list, this)
  }
}
