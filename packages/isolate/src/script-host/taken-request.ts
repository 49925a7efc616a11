import { CONSTANTS, LAYOUTS, STATUS } from '@tenon/core/internal'

const { offsets: SLOT, size: HEAD } = LAYOUTS.tn_host_slot_t
const { offsets: OPERAND, size: OPERAND_SIZE } = LAYOUTS.tn_host_operand_t
const { TN_HOST_SLOTS_OFFSET, TN_HOST_SLOT_SIZE, TN_HOST_BODIES_OFFSET, TN_HOST_BODY_SIZE } = CONSTANTS

/** One operand of a request: a range of a memory, or null. */
export type RequestOperand = { readonly memory: number; readonly offset: number; readonly length: number } | null

/** The error of an answer. */
export interface RequestFailure {
  /** The origin, `TN_HOST_REQUEST_ERROR` and so on. */
  readonly error: number
  readonly status: number
  /** A text, or MessagePack for an error of a script. It is cut to the size of a body. */
  readonly body: Uint8Array
}

/** A successful answer. */
export interface RequestSuccess {
  readonly body?: Uint8Array
  /** The id of a value that the client fetches and releases. The body names its parts: see `tn_host_strings_t`. */
  readonly value?: number
  /** The time in the kernel. */
  readonly nanoseconds?: bigint
}

/** The request in one slot of command memory, and its answer. */
export class TakenRequest {
  readonly #slot: DataView
  readonly #body: Uint8Array

  constructor(command: ArrayBuffer, index: number) {
    this.#slot = new DataView(command, TN_HOST_SLOTS_OFFSET + index * TN_HOST_SLOT_SIZE, TN_HOST_SLOT_SIZE)
    this.#body = new Uint8Array(command, TN_HOST_BODIES_OFFSET + index * TN_HOST_BODY_SIZE, TN_HOST_BODY_SIZE)
  }

  get operation(): number {
    return this.#slot.getUint32(SLOT.operation, true)
  }

  get target(): number {
    return this.#slot.getUint32(SLOT.target, true)
  }

  get flags(): number {
    return this.#slot.getUint32(SLOT.flags, true)
  }

  /** The number of operands. */
  get count(): number {
    return this.#slot.getUint32(SLOT.operands, true)
  }

  /** The number of bytes of the body. */
  get length(): number {
    return this.#slot.getUint32(SLOT.length, true)
  }

  /** A copy of the body. */
  body(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#body.subarray(0, this.length))
  }

  /** The operand at an index of the slot. */
  operand(index: number): RequestOperand {
    return readOperand(this.#slot, HEAD + index * OPERAND_SIZE)
  }

  /** Writes a successful answer. */
  succeed({ body = new Uint8Array(), value = 0, nanoseconds = 0n }: RequestSuccess = {}): void {
    this.#answer({ status: STATUS.OK.value, error: CONSTANTS.TN_HOST_NO_ERROR, body })
    this.#slot.setUint32(SLOT.value, value, true)
    if (value !== 0) this.#slot.setUint32(SLOT.flags, CONSTANTS.TN_HOST_HAS_STRINGS, true)
    this.#slot.setBigUint64(SLOT.native_time, nanoseconds, true)
  }

  fail(failure: RequestFailure): void {
    this.#answer(failure)
    this.#slot.setBigUint64(SLOT.native_time, 0n, true)
  }

  #answer({ status, error, body }: RequestFailure): void {
    const cut = body.subarray(0, TN_HOST_BODY_SIZE)
    this.#body.set(cut)
    this.#slot.setInt32(SLOT.status, status, true)
    this.#slot.setInt32(SLOT.code, 0, true)
    this.#slot.setUint32(SLOT.error, error, true)
    this.#slot.setUint32(SLOT.value, 0, true)
    this.#slot.setUint32(SLOT.flags, 0, true)
    this.#slot.setUint32(SLOT.length, cut.length, true)
  }
}

/** Reads a `tn_host_operand_t`. */
export function readOperand(view: DataView, at: number): RequestOperand {
  if ((view.getUint32(at + OPERAND.flags, true) & CONSTANTS.TN_HOST_NULL) !== 0) return null
  return {
    memory: view.getUint32(at + OPERAND.memory, true),
    offset: Number(view.getBigUint64(at + OPERAND.offset, true)),
    length: Number(view.getBigUint64(at + OPERAND.length, true)),
  }
}

/** The size of a `tn_host_operand_t` in bytes. */
export const operandSize: number = OPERAND_SIZE
