import {
  addressOf,
  CONSTANTS,
  coreFunctions,
  threadDriver,
  Gate,
  hasNativeBuffers,
  highWord,
  LAYOUTS,
  lowWord,
  WORDS,
  words,
} from '@tenon/core/internal'
import { RecursionError } from '../errors/error-kinds.ts'
import type { EnteredFunctions, PackedFunctions } from './entered.ts'
import { CALL, makePerform, TENSORS, type Perform, type PerformText } from './perform.ts'
import { callDepthLimit } from './depth-limit.ts'
import { host } from './host.ts'
import { openOwnMemory, openMemory } from './stack-memory.ts'
import { TypeIndex } from './type-index.ts'

const { TN_PACKED_STACK_SIZE: SIZE, TN_PACKED_OUT: OUT, TN_PACKED_SLOTS: SLOTS, TN_PACKED_TEXT: TEXT } = CONSTANTS
const { offsets: HEAD } = LAYOUTS.tn_packed_head_t
const { size: SLOT_SIZE } = LAYOUTS.TVMFFIAny
const TOP = HEAD.top / 4

export const SLOT_COUNT: number = CONSTANTS.TN_PACKED_SLOT_COUNT
export const TEXT_SIZE: number = SIZE - TEXT

/** The index in `head` of a flag: a TypeScript function has left its error in its result slot. */
export const RAISED: number = HEAD.raised / 4

/** The index in `head` of a flag: the result of a TypeScript function has a reference for the caller. */
export const OWNED: number = HEAD.owned / 4

/** The index in `head` of a flag: work is waiting for the end of the outermost call. */
export const PENDING: number = HEAD.pending / 4

/** An action that can be repeated until it ends without an error. It gets itself, so that it need not be a closure. */
export interface Action {
  settle(stack: Stack, action: Action): void
}

/** The address of an object whose reference is released, a gate to be left, or another action. */
export type Undo = number | Gate | Action

/** The state in the frame while a native call has not begun. */
const NOT_BEGUN = -1

/**
 * Writes a value of JavaScript into a slot: `pack` of `values/pack.ts`. Whatever `pack` itself calls gets it as a
 * parameter, so that their files do not import each other.
 */
export type Pack = (stack: Stack, slot: number, value: unknown) => void

/**
 * The argument stack of this thread. A frame consists of 16-byte slots, one for the result and one for each argument, and
 * nested calls take the slots above. Slots are counted from 0, where `i32`, `f64` and `i64` begin.
 */
export class Stack {
  readonly host: PackedFunctions
  readonly entered: EnteredFunctions
  readonly perform: Perform
  readonly performText: PerformText | undefined
  readonly address: number
  /** Whether the memory is that of JavaScript, because the runtime has no buffers over native memory. Then {@link PENDING} is always set. */
  readonly isOwn: boolean
  readonly bytes: Buffer
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly i64: BigInt64Array
  readonly words: BigUint64Array
  /** The addresses of the objects that calls lend, by slot, in two words each: functions may overwrite the slots. */
  readonly lent: Int32Array
  /** Words that native code reads and writes too: `top`, {@link RAISED}, {@link OWNED}, {@link TENSORS}, {@link PENDING}, {@link CALL}. */
  readonly head: Int32Array
  /** The first free slot: 0 while no call is in progress. */
  top = 0
  depth = 0
  /** The name of the function that is called next, in profiles. */
  callee = ''
  /** The text that the last call returned, if native code has made it. */
  returnedText: string | undefined = undefined
  readonly depthLimit: number = callDepthLimit()
  /** The number of bytes of the text region that are in use. */
  text = 0
  /** What calls in progress undo when they end. */
  readonly undo: Undo[] = []

  constructor() {
    const { packed, entered } = host()
    this.host = packed
    this.entered = entered
    // At the end of its environment, native code releases what this thread owns.
    threadDriver()
    this.isOwn = !hasNativeBuffers()
    const { address, buffer, start } = this.isOwn ? openOwnMemory(packed) : openMemory(packed)
    this.address = address
    this.bytes = Buffer.from(buffer, start, SIZE)
    this.i32 = new Int32Array(buffer, start + SLOTS, SLOT_COUNT * 4)
    this.f64 = new Float64Array(buffer, start + SLOTS, SLOT_COUNT * 2)
    this.i64 = new BigInt64Array(buffer, start + SLOTS, SLOT_COUNT * 2)
    this.lent = new Int32Array(buffer, start + SIZE, SLOT_COUNT * 2)
    this.words = new BigUint64Array(buffer, start + HEAD.words, (HEAD.pending - HEAD.words) / 8)
    this.head = new Int32Array(buffer, start, CALL + 1)
    this.clearPending()
    const { perform, performText } = makePerform(this)
    this.perform = perform
    this.performText = performText
  }

  /** Takes a frame of `count` arguments above the top. @throws {RecursionError} if the stack is full. */
  enter(count: number): void {
    const top = this.top + count + 1
    if (top > SLOT_COUNT) throw this.full(count)
    this.top = top
    this.head[TOP] = top
  }

  /** Runs `body` with a frame of `count` arguments, then undoes what `body` left to undo and gives the frame back. */
  frame<Result>(count: number, body: (base: number) => Result): Result {
    const { top: base, text } = this
    const undone = this.undo.length
    this.enter(count)
    try {
      return body(base)
    } finally {
      this.top = base
      if (this.undo.length !== undone) this.settle(undone)
      this.text = text
    }
  }

  /** Begins to wait for what native code releases from now on. */
  clearPending(): void {
    this.head[PENDING] = this.isOwn ? 1 : 0
  }

  slotAddress(slot: number): number {
    return this.address + SLOTS + slot * SLOT_SIZE
  }

  slotOffset(slot: number): number {
    return SLOTS + slot * SLOT_SIZE
  }

  pointer(slot: number): number {
    const at = slot * 4 + 2
    return (this.i32[at]! >>> 0) + (this.i32[at + 1]! >>> 0) * 2 ** 32
  }

  setPointer(slot: number, typeIndex: number, address: number): void {
    this.set(slot, typeIndex, address, address / 2 ** 32)
  }

  /** Writes a slot: its type and both halves of its value, of which the low 32 bits are kept. */
  set(slot: number, typeIndex: number, low: number, high: number): void {
    const at = slot * 4
    this.i32[at] = typeIndex
    this.i32[at + 1] = 0
    this.i32[at + 2] = low
    this.i32[at + 3] = high
  }

  /** Writes an object that a call borrows from JavaScript. */
  lend(slot: number, typeIndex: number, low: number, high: number): void {
    this.set(slot, typeIndex, low, high)
    this.lent[slot * 2] = low
    this.lent[slot * 2 + 1] = high
  }

  /**
   * Whether a slot before `end` has borrowed an object, for a call in progress or one whose arguments are being written. The objects of
   * ended calls remain noted, so it may be true for one of these, unless its slot is known to have another value.
   */
  isLent(end: number, handle: number): boolean {
    const [low, high] = [lowWord(handle), highWord(handle)]
    // Functions may have overwritten the slots of calls that have begun.
    const begun = this.head[TOP]!
    for (let slot = 0; slot < end; slot++) {
      if (this.lent[slot * 2] !== low || this.lent[slot * 2 + 1] !== high) continue
      if (slot < begun || (this.i32[slot * 4]! >= TypeIndex.Object && this.pointer(slot) === handle)) return true
    }
    return false
  }

  setFloat(slot: number, value: number): void {
    this.i32[slot * 4] = TypeIndex.Float
    this.i32[slot * 4 + 1] = 0
    this.f64[slot * 2 + 1] = value
  }

  /** Calls an object that is a function. Returns the type index of the result, or -1. */
  call(base: number, handle: number, count: number): number {
    return this.perform(base, lowWord(handle), highWord(handle), count, 0)
  }

  /** Releases the result of a call that throws. The stack of JavaScript may have been too full for the call to begin. */
  abandon(base: number): void {
    const { head } = this
    if (head[CALL] !== 0) {
      head[CALL] = 0
      head[TENSORS] = 0
      return
    }
    // A destructor may make calls.
    const kept = head[TENSORS]!
    head[TENSORS] = 0
    this.clear(base)
    head[TENSORS] = kept
  }

  /** Releases the object in a slot, if there is one. The text of an object that was released already is not in the slot. */
  clear(slot: number): void {
    const at = slot * 4
    const isOwned = this.i32[at]! >= TypeIndex.Object && this.i32[at + 1] === 0
    this.i32[at] = TypeIndex.None
    if (isOwned) this.release(this.pointer(slot))
  }

  /**
   * Releases a reference. A destructor that throws does not interrupt the caller, which has more to undo, so its error becomes
   * an uncaught exception.
   *
   * @throws {RangeError} if the stack of JavaScript is full. The reference stays.
   */
  release(address: number): void {
    this.cleanUp(() => this.entered.tn_packed_release(address))
  }

  /** Runs a native function that only releases objects: see {@link release}. */
  cleanUp(run: () => void): void {
    // The frames of callbacks start above those in use, which may have more to release.
    this.head[TOP] = this.top
    words[WORDS.state] = NOT_BEGUN
    try {
      run()
    } catch (error) {
      if (words[WORDS.state] === NOT_BEGUN) throw error
      try {
        queueMicrotask(() => {
          throw error
        })
      } catch {
        // The stack of JavaScript is full, which the call in progress reports.
      }
    }
  }

  /** Runs a native function that leaves a result in a slot, and releases the result if the function throws. */
  resultOf(slot: number, run: () => number): number {
    this.set(slot, TypeIndex.None, 0, 0)
    try {
      return run()
    } catch (error) {
      this.clear(slot)
      throw error
    }
  }

  /** The address of eight zero bytes. */
  zeroAddress(): number {
    return this.address + HEAD.zero
  }

  /** Reads `size` bytes that begin `from` bytes after the start of the output region. */
  outText(size: number, from = 0): string {
    return this.bytes.toString('utf8', OUT + from, OUT + from + size)
  }

  outNumbers(count: number, from = 0): number[] {
    return Array.from({ length: count }, (_, i) => Number(this.bytes.readBigInt64LE(OUT + (from + i) * 8)))
  }

  outBytes(size: number): Uint8Array {
    return new Uint8Array(this.bytes.subarray(OUT, OUT + size))
  }

  textOffset(): number {
    return TEXT + this.text
  }

  alignedTextOffset(): number {
    this.text = (this.text + 7) & ~7
    return TEXT + this.text
  }

  copyOf(address: number, size: number): Buffer {
    const copy = Buffer.allocUnsafeSlow(size)
    if (size > 0) coreFunctions().tn_memory_copy(addressOf(copy), address, size)
    return copy
  }

  copyOfWords(address: number, size: number): Buffer {
    return this.copyOf(Number(this.words[address]), Number(this.words[size]))
  }

  /** Has the object that was created in a slot, if there is one, released by `settle`, whatever native code writes to the slot. */
  releaseLater(slot: number): void {
    if (this.i32[slot * 4]! >= TypeIndex.Object) this.undo.push(this.pointer(slot))
  }

  /**
   * Undoes everything beyond the first `count` entries of `undo`, last first.
   *
   * @throws {RangeError} if the stack of JavaScript is full. What is left is undone by the call around, or after the next outermost call.
   */
  settle(count: number): void {
    const { undo } = this
    while (undo.length > count) {
      const last = undo.pop()!
      try {
        if (typeof last === 'number') this.release(last)
        else if (last instanceof Gate) last.exit()
        else last.settle(this, last)
      } catch (error) {
        undo[undo.length] = last
        throw error
      }
    }
  }

  full(count: number): RecursionError {
    return new RecursionError(`the argument stack has no room for ${count} more arguments`)
  }
}

let stack: Stack | undefined

/** The stack of this thread, opened at first use. */
export function openStack(): Stack {
  return (stack ??= new Stack())
}
