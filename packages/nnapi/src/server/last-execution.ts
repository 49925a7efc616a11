import { CONSTANTS, LAYOUTS } from '@tenon/core/internal'
import type { MessageBuffer } from '../link/link.ts'
import type { BoundExecution } from '../engine/execute.ts'
import { HEADER_SIZE, HEADER_TIMEOUT, readU64 } from '../wire/frame.ts'

const { offsets: AT } = LAYOUTS.tn_frame_t

/** The last execution of a client, which runs again without further checks when the same message comes. */
export class LastExecution {
  /** The bytes behind the header. */
  #body: Buffer | undefined
  #bound: BoundExecution | undefined
  #generation = 0

  /** Returns the execution for a received message of a caller that blocks, without a deadline. */
  of({ view, bytes }: MessageBuffer, generation: number): BoundExecution | undefined {
    const body = this.#body
    if (body === undefined || this.#generation !== generation) return undefined
    const end = HEADER_SIZE + body.length
    if (view.getUint32(AT.length, true) !== end) return undefined
    // Descriptors and flags are two numbers of 16 bits.
    if (view.getUint16(AT.operation, true) !== CONSTANTS.TN_FRAME_EXECUTE || view.getUint32(AT.descriptors, true) !== 0)
      return undefined
    if (readU64(view, HEADER_TIMEOUT) !== 0) return undefined
    return bytes.compare(body, 0, body.length, HEADER_SIZE, end) === 0 ? this.#repeatable() : undefined
  }

  /** Returns the execution for the bytes of a message. */
  ofFrame(frame: Buffer, generation: number): BoundExecution | undefined {
    const isSame = this.#generation === generation && this.#body?.equals(frame.subarray(HEADER_SIZE)) === true
    return isSame ? this.#repeatable() : undefined
  }

  /** Takes an execution over in place of the last one. */
  keep(frame: Buffer, bound: BoundExecution, generation: number): BoundExecution {
    this.forget()
    this.#body = Buffer.from(frame.subarray(HEADER_SIZE))
    this.#bound = bound
    this.#generation = generation
    return bound
  }

  /** Frees the memory of the execution. */
  forget(): void {
    this.#bound?.release()
    this.#body = this.#bound = undefined
  }

  #repeatable(): BoundExecution | undefined {
    return this.#bound?.isRepeatable === true ? this.#bound : undefined
  }
}
