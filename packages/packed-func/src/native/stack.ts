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
  takeThrown,
  WORDS,
  words,
} from '@tenon/core/internal'
import { RecursionError } from '../errors/error-kinds.ts'
import { packedAddress, type EnteredFunctions, type PackedFunctions } from './entered.ts'
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

/** The index in `head` of a mask: before a call its tensor arguments (bit i for argument i), after it those that were kept. */
export const TENSORS: number = HEAD.tensors / 4

/** The index in `head` of a flag: work is waiting for the end of the outermost call. */
export const PENDING: number = HEAD.pending / 4

/** The index in `head` of the next call: the first slot of its frame, and from bit {@link CALL_SHIFT} on the number of arguments. */
export const CALL: number = HEAD.call / 4
export const CALL_SHIFT: number = CONSTANTS.TN_PACKED_CALL_SHIFT
/** A bit of `head[CALL]`: set before each call, and cleared when it begins. */
export const CALL_SELECTED: number = CONSTANTS.TN_PACKED_CALL_SELECTED

/** The place of calls in the table of entries, which all packages share. */
const CALL_ENTRY = 3

/**
 * Performs the call of the frame that begins at `base`, for the function whose address has the words `low` and `high`. Returns
 * the type index of the result, or -1. After a call that throws, too, `head[TENSORS]` has the tensors that native code kept.
 *
 * @throws what an upcall stub has thrown meanwhile
 */
type Perform = (base: number, low: number, high: number, count: number, tensors: number) => number

/** As {@link Perform}, with one argument: text that is written to the text region at an offset, with at most `capacity` bytes. */
type PerformText = (base: number, low: number, high: number, text: string, offset: number, capacity: number) => number

/** The result of {@link PerformText} if the text has U+0000, so that no call was made. */
export const NOT_MADE = -2

/** Constants of a function are part of compiled code. The bundler turns those of a module into variables. */
function makePerform(stack: Stack): { perform: Perform; performText?: PerformText } {
  const { i32, head, address } = stack
  const target = packedAddress('tn_packed_call')
  const enter = threadDriver().entry(CALL_ENTRY, target)
  const enterWithText = threadDriver().textEntry?.(CALL_ENTRY, target)
  const frame = words
  const { general: STACK_LOW, state: STATE, errno: RESULT } = WORDS
  const STACK_HIGH = STACK_LOW + 1
  const [CALL_WORD, TENSORS_WORD, SELECTED, SHIFT] = [CALL, TENSORS, CALL_SELECTED, CALL_SHIFT]
  const [stackLow, stackHigh] = [lowWord(address), highWord(address)]
  const [TEXT_LOW, TEXT_HIGH, CAPACITY, CAPACITY_HIGH] = [2, 3, 4, 5].map((word) => STACK_LOW + word) as Four
  const [RAW_STR, CALL_NOT_MADE] = [TypeIndex.RawStr, CONSTANTS.TN_CALL_NOT_MADE]

  function select(base: number, low: number, high: number, count: number): void {
    i32[base * 4 + 2] = low
    i32[base * 4 + 3] = high
    head[CALL_WORD] = base | (count << SHIFT) | SELECTED
    frame[STACK_LOW] = stackLow
    frame[STACK_HIGH] = stackHigh
  }

  /** Ends a call that a C++ exception has ended, perhaps after another error. */
  function endException(base: number, tensors: number, state: number, status: number): void {
    if (state !== CONSTANTS.TN_CALL_CAUGHT && state !== CONSTANTS.TN_CALL_THROWN_AND_CAUGHT) return
    stack.host.tn_packed_end_exception(stack.slotAddress(base), tensors, status)
  }

  /** Ends a call that threw. Returns -1 if the error is in the slot of the result. */
  function fail(base: number, tensors: number): number {
    const [state, status] = [frame[STATE]!, frame[RESULT]!]
    const isError = state === CONSTANTS.TN_CALL_CAUGHT
    endException(base, tensors, state, isError ? status : 0)
    if (isError) return -1
    const error = takeThrown()
    stack.abandon(base)
    throw error
  }

  /** Ends a call whose error the driver has thrown. One that did not begin ends without a function, for which the stack may be too full. */
  function refuse(base: number, tensors: number, error: unknown): never {
    endException(base, tensors, frame[STATE]!, 0)
    stack.abandon(base)
    throw error
  }

  const perform: Perform = (base, low, high, count, tensors) => {
    select(base, low, high, count)
    if (tensors !== 0) head[TENSORS_WORD] = tensors
    try {
      enter()
    } catch (error) {
      if (head[CALL_WORD] === 0) refuse(base, tensors, error)
      head[CALL_WORD] = 0
      head[TENSORS_WORD] = 0
      throw error
    }
    if (frame[STATE] === 0) return frame[RESULT]!
    return fail(base, tensors)
  }
  if (enterWithText === undefined) return { perform }

  const performText: PerformText = (base, low, high, text, offset, capacity) => {
    select(base, low, high, 1)
    // The stack is aligned to its size, so adding an offset to its address does not carry.
    const textLow = stackLow + offset
    const at = base * 4 + 4
    i32[at] = RAW_STR
    i32[at + 1] = 0
    i32[at + 2] = textLow
    i32[at + 3] = stackHigh
    frame[TEXT_LOW] = textLow
    frame[TEXT_HIGH] = stackHigh
    frame[CAPACITY] = capacity
    frame[CAPACITY_HIGH] = 0
    try {
      enterWithText(text)
    } catch (error) {
      if (head[CALL_WORD] === 0) refuse(base, 0, error)
      head[CALL_WORD] = 0
      throw error
    }
    if (frame[STATE] === 0) return frame[RESULT]!
    if (frame[STATE] === CALL_NOT_MADE) return NOT_MADE
    return fail(base, 0)
  }
  return { perform, performText }
}

type Four = [number, number, number, number]

/** The address of an object whose reference is released, a gate to be left, or an action that can be repeated until it ends without an error. */
export type Undo = number | Gate | { settle(stack: Stack): void }

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
  /** Words that native code reads and writes too: `top`, {@link RAISED}, {@link OWNED}, {@link TENSORS}, {@link PENDING}, {@link CALL}. */
  readonly head: Int32Array
  /** The first free slot: 0 while no call is in progress. */
  top = 0
  depth = 0
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
        else last.settle(this)
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
