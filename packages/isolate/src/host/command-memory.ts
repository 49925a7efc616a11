import { bufferOver, CONSTANTS, detachBuffer, LAYOUTS, type RemoteAnswer } from '@tenon/core/internal'
import type { WorkerOperand } from './worker-call.ts'

const { offsets: SLOT } = LAYOUTS.tn_host_slot_t
const { offsets: HEADER } = LAYOUTS.tn_host_header_t
const { offsets: OPERAND } = LAYOUTS.tn_host_operand_t

const WORDS_OF_SLOT = CONSTANTS.TN_HOST_SLOT_SIZE / 4
const FIRST_SLOT = CONSTANTS.TN_HOST_SLOTS_OFFSET / 4
const FIRST_OPERAND = LAYOUTS.tn_host_slot_t.size / 4
const WORDS_OF_OPERAND = LAYOUTS.tn_host_operand_t.size / 4

const [STATE, OPERATION, TARGET, OPERANDS, ID, DEADLINE, FLAGS, LENGTH, STATUS, CODE, ERROR, VALUE, NATIVE_TIME] = [
  SLOT.state / 4,
  SLOT.operation / 4,
  SLOT.target / 4,
  SLOT.operands / 4,
  SLOT.id / 4,
  SLOT.deadline / 4,
  SLOT.flags / 4,
  SLOT.length / 4,
  SLOT.status / 4,
  SLOT.code / 4,
  SLOT.error / 4,
  SLOT.value / 4,
  SLOT.native_time / 4,
]
const [MEMORY, OPERAND_FLAGS, OFFSET, OPERAND_LENGTH] = [
  OPERAND.memory / 4,
  OPERAND.flags / 4,
  OPERAND.offset / 4,
  OPERAND.length / 4,
]

const TWO_32 = 2 ** 32
const NEVER = 0xffffffff
/** The record of a watchdog: see `crash_kind`. */
const OVERDUE = 3
const EMPTY = new Uint8Array(0)

/** The flags of an operand in a request. */
export const flagsOf = ({ isWritten, strings = 0 }: Exclude<WorkerOperand, null>): number =>
  (isWritten ? 0 : CONSTANTS.TN_HOST_READ_ONLY) | strings

/**
 * The memory that this process shares with a worker. The worker may change every word of it at any time, so each method reads a
 * word at most once.
 */
export class CommandMemory {
  readonly #words: Uint32Array<ArrayBuffer>
  readonly #bytes: Uint8Array<ArrayBuffer>

  /** @param address the address of `TN_HOST_COMMAND_SIZE` bytes, which stay mapped until {@link close}. */
  constructor(address: number) {
    const buffer = bufferOver(address, CONSTANTS.TN_HOST_COMMAND_SIZE)
    this.#words = new Uint32Array(buffer)
    this.#bytes = new Uint8Array(buffer)
  }

  /** Detaches the views, so that nothing reads memory that is unmapped. */
  close(): void {
    detachBuffer(this.#bytes.buffer)
  }

  /** Writes a request, except its operands, its body and its state. @param deadline in ms of CLOCK_MONOTONIC; `Infinity` for none */
  writeRequest(slot: number, operation: number, target: number, id: number, deadline: number): void {
    const words = this.#words
    const at = FIRST_SLOT + slot * WORDS_OF_SLOT
    words[at + OPERATION] = operation
    words[at + TARGET] = target
    words[at + OPERANDS] = 0
    words[at + ID] = id
    words[at + ID + 1] = id / TWO_32
    const time = Math.max(deadline * 1e6, 0)
    // Times that the words cannot hold would wrap around, and be in the past.
    if (time >= TWO_32 * TWO_32) {
      words[at + DEADLINE] = NEVER
      words[at + DEADLINE + 1] = NEVER
    } else {
      words[at + DEADLINE] = time % TWO_32
      words[at + DEADLINE + 1] = time / TWO_32
    }
    words[at + FLAGS] = 0
    words[at + LENGTH] = 0
  }

  /** Sets the numbers of operands that the request has, and its flags. */
  writeOperandCount(slot: number, count: number, flags: number): void {
    const at = FIRST_SLOT + slot * WORDS_OF_SLOT
    this.#words[at + OPERANDS] = count
    this.#words[at + FLAGS] = flags
  }

  writeOperand(slot: number, index: number, memory: number, flags: number, offset: number, length: number): void {
    writeOperand(
      this.#words,
      FIRST_SLOT + slot * WORDS_OF_SLOT + FIRST_OPERAND + index * WORDS_OF_OPERAND,
      memory,
      flags,
      offset,
      length,
    )
  }

  /** Sets the size of a body that is in memory of its own. */
  writeLength(slot: number, length: number): void {
    this.#words[FIRST_SLOT + slot * WORDS_OF_SLOT + LENGTH] = length
  }

  /** Copies the body of a request. @param body at most `TN_HOST_BODY_SIZE` bytes */
  writeBody(slot: number, body: Uint8Array): void {
    this.#words[FIRST_SLOT + slot * WORDS_OF_SLOT + LENGTH] = body.length
    this.#bytes.set(body, CONSTANTS.TN_HOST_BODIES_OFFSET + slot * CONSTANTS.TN_HOST_BODY_SIZE)
  }

  /** Sets the state of a slot, after everything that was written before. */
  setState(slot: number, state: number): void {
    Atomics.store(this.#words, FIRST_SLOT + slot * WORDS_OF_SLOT + STATE, state)
  }

  /** Changes the state of a slot, unless it is another one than `from` by now. @returns whether it was changed */
  changeState(slot: number, from: number, to: number): boolean {
    return Atomics.compareExchange(this.#words, FIRST_SLOT + slot * WORDS_OF_SLOT + STATE, from, to) === from
  }

  /** The id of a request, right after it was written. */
  idOf(slot: number): number {
    const at = FIRST_SLOT + slot * WORDS_OF_SLOT + ID
    return this.#words[at]! + this.#words[at + 1]! * TWO_32
  }

  state(slot: number): number {
    return Atomics.load(this.#words, FIRST_SLOT + slot * WORDS_OF_SLOT + STATE)
  }

  /** Copies an answer. Returns undefined if it is not an answer to the request with this id, or is malformed. */
  readAnswer(slot: number, id: number): RemoteAnswer | undefined {
    const words = this.#words
    const at = FIRST_SLOT + slot * WORDS_OF_SLOT
    const body = this.readBody(slot)
    if (words[at + ID]! + words[at + ID + 1]! * TWO_32 !== id || body === undefined) return undefined
    return {
      status: words[at + STATUS]! | 0,
      code: words[at + CODE]! | 0,
      error: words[at + ERROR]!,
      value: words[at + VALUE]!,
      isLong: (words[at + FLAGS]! & CONSTANTS.TN_HOST_LONG_BODY) !== 0,
      hasStrings: (words[at + FLAGS]! & CONSTANTS.TN_HOST_HAS_STRINGS) !== 0,
      body,
      nativeTime: words[at + NATIVE_TIME]! + words[at + NATIVE_TIME + 1]! * TWO_32,
    }
  }

  /** Copies the body of an answer, or of a call of a function of this process. Returns undefined if its length is not valid. */
  readBody(slot: number): Uint8Array | undefined {
    const length = this.#words[FIRST_SLOT + slot * WORDS_OF_SLOT + LENGTH]!
    if (length === 0) return EMPTY
    if (length > CONSTANTS.TN_HOST_BODY_SIZE) return undefined
    const start = CONSTANTS.TN_HOST_BODIES_OFFSET + slot * CONSTANTS.TN_HOST_BODY_SIZE
    return this.#bytes.slice(start, start + length)
  }

  /** Copies a body to the start of `target`, which has room for each. Returns its length; 0 if the length is not valid. */
  copyBody(slot: number, target: Uint8Array): number {
    const length = this.#words[FIRST_SLOT + slot * WORDS_OF_SLOT + LENGTH]!
    if (length > CONSTANTS.TN_HOST_BODY_SIZE) return 0
    const start = CONSTANTS.TN_HOST_BODIES_OFFSET + slot * CONSTANTS.TN_HOST_BODY_SIZE
    target.set(this.#bytes.subarray(start, start + length))
    return length
  }

  /** Asks the worker to write to the eventfd after its next response. The caller then looks at the states again. */
  askForRing(): void {
    Atomics.store(this.#words, HEADER.ring / 4, 1)
  }

  /** The number of changes of slots by the worker, modulo 2^32. */
  get responses(): number {
    return Atomics.load(this.#words, HEADER.responses / 4)
  }

  get phase(): number {
    return this.#words[HEADER.phase / 4]!
  }

  /** The id of the request that the worker has taken last. */
  get takenId(): number {
    return this.#words[HEADER.id / 4]! + this.#words[HEADER.id / 4 + 1]! * TWO_32
  }

  /** The size of the last allocation that the memory limit refused during the call; 0 for none. */
  get refusedBytes(): number {
    return this.#words[HEADER.refused_bytes / 4]! + this.#words[HEADER.refused_bytes / 4 + 1]! * TWO_32
  }

  /** Whether the worker ended itself, because this process was stopped long beyond a deadline. A kernel can lie about it. */
  get isOverdue(): boolean {
    return this.#words[HEADER.crash_kind / 4] === OVERDUE
  }

  /** The number of bytes that were written to the output, modulo 2^32, which is enough for differences. */
  get outputTotal(): number {
    return this.#words[(CONSTANTS.TN_HOST_OUTPUT_OFFSET + LAYOUTS.tn_host_output_t.offsets.total) / 4]!
  }

  /** A copy of the header, with the record of a crash. */
  copyHeader(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, LAYOUTS.tn_host_header_t.size)
  }

  /** A copy of the list of the files whose code the worker has. */
  copyModules(): Uint8Array<ArrayBuffer> {
    const { TN_HOST_MODULES_OFFSET: start, TN_HOST_MODULES_SIZE: size } = CONSTANTS
    return this.#bytes.slice(start, start + size)
  }

  /** A copy of the output, from its counter on. */
  copyOutput(): Uint8Array<ArrayBuffer> {
    const start = CONSTANTS.TN_HOST_OUTPUT_OFFSET
    return this.#bytes.slice(start, start + LAYOUTS.tn_host_output_t.size)
  }
}

/** Writes a `tn_host_operand_t` at a word of a view. */
export function writeOperand(
  words: Uint32Array,
  at: number,
  memory: number,
  flags: number,
  offset: number,
  length: number,
): void {
  words[at + MEMORY] = memory
  words[at + OPERAND_FLAGS] = flags
  words[at + OFFSET] = offset
  words[at + OFFSET + 1] = offset / TWO_32
  words[at + OPERAND_LENGTH] = length
  words[at + OPERAND_LENGTH + 1] = length / TWO_32
}
