import { addressOf, bufferOver, Gate } from '@tenon/core/internal'
import { MemoryError, RecursionError } from '../errors/kind-classes.ts'
import { host, type Host } from './host.ts'

/* The layout of the memory that JavaScript and libtenon_packed share: see csrc/tvm/host/host.h. */
const SIZE = 262_144
const WORDS = 16
const ZERO = 136
const OUT = 4096
const SLOTS = 20_480
export const SLOT_COUNT = 6912
const TEXT = 131_072
export const TEXT_SIZE: number = SIZE - TEXT

/** The place in `head` of the tensors among the arguments of a call (bit i for argument i), then of those that were kept. */
export const TENSORS = 3

/** The place in `head` of a flag: something waits for the end of the outermost call. */
export const PENDING = 32

/** The place in `head` of what is called: the frame's first slot, and above {@link CALL_SHIFT} bits the number of arguments. */
export const CALL = 33
export const CALL_SHIFT = 13
/** Set in it for each call: another copy of the package in this thread has a stack of its own. */
export const CALL_MEANT: number = 1 << 30

/** How deep JavaScript and native code may call each other: far below where the driver ends, with an error of its own. */
export const DEPTH_LIMIT = 128

/** A slot whose value has to be cleared, a gate that is held open, or something else. */
export type Undo = number | Gate | { settle(): void }

/**
 * The argument stack of this thread: frames of 16-byte slots, one for the result and one for each argument. Nested calls
 * take the slots above. Slots are counted from 0; `i32`, `f64` and `i64` begin at slot 0.
 */
export class Stack {
  readonly host: Host
  readonly address: number
  readonly bytes: Buffer
  readonly i32: Int32Array
  readonly f64: Float64Array
  readonly i64: BigInt64Array
  readonly words: BigUint64Array
  /**
   * Shared with native code: 0 `top`; 1 a TypeScript function failed; 2 its result is not only lent; {@link TENSORS},
   * {@link PENDING} and {@link CALL}.
   */
  readonly head: Int32Array
  /** The first free slot: 0 while no call is in progress. */
  top = 0
  /** How many TypeScript functions native code is in the middle of calling. */
  depth = 0
  /** The first free byte of the text region, from its start. */
  text = 0
  /** What the calls in progress have to undo when they end. */
  readonly undo: Undo[] = []

  constructor() {
    this.host = host()
    const out = new BigUint64Array(1)
    if (this.host.open(addressOf(out)) !== 0) throw new MemoryError('no memory for an argument stack')
    this.address = Number(out[0])
    const buffer = bufferOver(this.address, SIZE)
    this.bytes = Buffer.from(buffer)
    this.i32 = new Int32Array(buffer, SLOTS, SLOT_COUNT * 4)
    this.f64 = new Float64Array(buffer, SLOTS, SLOT_COUNT * 2)
    this.i64 = new BigInt64Array(buffer, SLOTS, SLOT_COUNT * 2)
    this.words = new BigUint64Array(buffer, WORDS, 16)
    this.head = new Int32Array(buffer, 0, CALL + 1)
  }

  /** Takes a frame of `count` arguments above the top. @throws if the stack is full */
  enter(count: number): void {
    const top = this.top + count + 1
    if (top > SLOT_COUNT) throw this.full(count)
    this.top = top
    this.head[0] = top
  }

  /** Gives the frame back that began at `base`, and the text region from `text` on. */
  leave(base: number, text: number): void {
    this.top = base
    this.text = text
  }

  /** The address of a slot. */
  slotAddress(slot: number): number {
    return this.address + SLOTS + slot * 16
  }

  /** Where a slot is in `bytes`. */
  slotOffset(slot: number): number {
    return SLOTS + slot * 16
  }

  /** An address that a slot holds. */
  pointer(slot: number): number {
    const at = slot * 4 + 2
    return (this.i32[at]! >>> 0) + (this.i32[at + 1]! >>> 0) * 2 ** 32
  }

  setPointer(slot: number, typeIndex: number, address: number): void {
    const at = slot * 4
    this.i32[at] = typeIndex
    this.i32[at + 1] = 0
    this.i32[at + 2] = address
    this.i32[at + 3] = address / 2 ** 32
  }

  /** Calls a function whose arguments are in the slots after `base`: as the host's `call`. */
  call(base: number, handle: number, count: number): number {
    this.setPointer(base, 0, handle)
    this.head[CALL] = base | (count << CALL_SHIFT) | CALL_MEANT
    return this.host.call()
  }

  /** The address of eight zero bytes. */
  zeroAddress(): number {
    return this.address + ZERO
  }

  /** Text that native code left, of `size` bytes, `from` bytes after its start. */
  outText(size: number, from = 0): string {
    return this.bytes.toString('utf8', OUT + from, OUT + from + size)
  }

  /** The 64-bit integers that native code left. */
  outNumbers(count: number, from = 0): number[] {
    return Array.from({ length: count }, (_, i) => Number(this.bytes.readBigInt64LE(OUT + (from + i) * 8)))
  }

  outBytes(size: number): Uint8Array {
    return new Uint8Array(this.bytes.subarray(OUT, OUT + size))
  }

  /** Where the free part of the text region starts: in `bytes`, and as an address. */
  textOffset(): number {
    return TEXT + this.text
  }

  /** A copy of native memory. */
  copyOf(address: number, size: number): Buffer {
    const copy = Buffer.allocUnsafeSlow(size)
    if (size > 0) this.host.copy(address, addressOf(copy), size)
    return copy
  }

  /** Undoes what was done since there were `count` things to undo, last first. */
  settle(count: number): void {
    while (this.undo.length > count) {
      const last = this.undo.pop()!
      if (typeof last === 'number') this.host.clear(this.slotAddress(last))
      else if (last instanceof Gate) last.exit()
      else last.settle()
    }
  }

  /** The error for more arguments than there are slots. */
  full(count: number): RecursionError {
    return new RecursionError(`the argument stack has no room for ${count} more arguments`)
  }
}

let stack: Stack | undefined

/** The stack of this thread, opened at first use. */
export function openStack(): Stack {
  return (stack ??= new Stack())
}
