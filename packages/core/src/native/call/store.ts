import { wrongType, wrongValue } from '../../errors/check-arguments.ts'
import { describe } from '../../errors/describe.ts'
import { ArgumentError, ReadOnlyError } from '../../errors/kinds.ts'
import type { Gated } from '../../memory/lifetime.ts'
import { DEVICE_MEMORY, READ_ONLY, Segment } from '../../memory/segment.ts'
import type { Value } from '../argument-conversion.ts'
import { VALUE_SIZES, type ValueType } from '../value-type.ts'
import type { CallPlan, ParameterPlan } from './call-plan.ts'
import { COPY_ENTRY, WORDS } from './frame-layout.ts'
import { bigints, bytes, doubles, floats, TWO_32, words } from './frame.ts'

/** Where an argument is stored, and how messages name it. */
export interface Slot {
  /**
   * `target`: the segment for a struct that the function returns. `struct`: a struct that is passed by value. `narrow`: a
   * scalar that does not have the two words of a register alone.
   */
  readonly kind: ValueType | 'target' | 'struct' | 'narrow'
  /** The first word. -1: nothing is stored. */
  readonly word: number
  readonly name: string
  /** The size of a struct in bytes. */
  readonly byteSize: number
  readonly plan: ParameterPlan | undefined
  readonly call: CallPlan
}

/** What {@link resolve} makes of an argument. A struct is a copy of its bytes. */
export type Resolved = Value | Uint8Array

export function slotOf(plan: ParameterPlan, call: CallPlan, name: string): Slot {
  const { kind, word, byteSize, second } = plan
  const isStruct = kind === 'struct' || kind === 'indirect'
  const hasRegister = byteSize === 8 && second === -1
  return { kind: isStruct ? 'struct' : hasRegister ? kind : 'narrow', word, name, byteSize, plan, call }
}

/** The slot of the segment to which a struct is returned. Functions that return it in registers do not receive it. */
export function targetSlot(call: CallPlan, name: string): Slot {
  const { kind, word, byteSize } = call.result
  return { kind: 'target', word: kind === 'memory' ? word : -1, name, byteSize, plan: undefined, call }
}

/** Returns the operand that keeps an argument's memory open during the call: the block, or `self` if it is not memory. */
export const operandOf = (value: unknown, self: Gated): Gated => (value instanceof Segment ? value.block : self)

/**
 * Turns segments into their address or bytes. Everything that can run the user's code, such as a proxy of a segment, happens
 * here, before anything is stored.
 *
 * @throws {ArgumentError} if a segment is missing, or does not fit.
 */
export function resolve(slot: Slot, value: Value): Resolved {
  const { kind } = slot
  if (kind === 'pointer') {
    if (value instanceof Segment) return value.block.address + value.base
    if (value === null) return 0
    throw wrongType(
      slot.name,
      'a segment or null',
      value,
      'put the bytes into memory of an allocator; addresses and buffers of JavaScript can dangle.',
    )
  }
  if (kind !== 'struct' && kind !== 'target') return value
  const segment = structSegment(slot, value)
  if (kind === 'target') return segment.block.address + segment.base
  const copy = new Uint8Array(slot.byteSize)
  copy.set(segment.block.bytes.subarray(segment.base, segment.base + copy.length))
  return copy
}

function structSegment({ kind, name, byteSize }: Slot, value: Value): Segment {
  if (value instanceof Segment && value.byteSize === byteSize) {
    const { flags } = value
    if ((flags & DEVICE_MEMORY) !== 0) throw new ArgumentError(`${name} must be in host memory, got device memory`)
    if (kind !== 'target' || (flags & READ_ONLY) === 0) return value
    throw new ReadOnlyError(`${name} must be writable, got a read-only segment`)
  }
  throw new ArgumentError(
    `${name} must be a segment of ${byteSize} bytes, got ` +
      (value instanceof Segment ? `one of ${value.byteSize}` : describe(value)),
  )
}

/** Checks a resolved argument and stores it in the frame. Runs none of the user's code, unless it throws. */
export function store(slot: Slot, value: Resolved): void {
  const { kind, word } = slot
  switch (kind) {
    case 'pointer':
      words[word] = value as number
      words[word + 1] = (value as number) / TWO_32
      return
    case 'int32':
      if (typeof value === 'number' && (value | 0) === value) {
        words[word] = value
        words[word + 1] = value >> 31
        return
      }
      break
    case 'int64':
      if (typeof value === 'number') {
        if ((value | 0) === value) {
          words[word] = value
          words[word + 1] = value >> 31
          return
        }
        if (Number.isSafeInteger(value)) {
          words[word] = value
          words[word + 1] = Math.floor(value / TWO_32)
          return
        }
      } else if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) {
        bigints[word >> 1] = value
        return
      }
      break
    case 'uint64':
      if (typeof value === 'number') {
        if (value >= 0 && Number.isSafeInteger(value)) {
          words[word] = value
          words[word + 1] = value / TWO_32
          return
        }
      } else if (typeof value === 'bigint' && BigInt.asUintN(64, value) === value) {
        bigints[word >> 1] = value
        return
      }
      break
    case 'float64':
      if (typeof value === 'number') {
        doubles[word >> 1] = value
        return
      }
      break
    case 'float32':
      if (typeof value === 'number') {
        floats[word] = value
        words[word + 1] = 0
        return
      }
      break
    case 'uint32':
      if (typeof value === 'number' && value >>> 0 === value) {
        words[word] = value
        words[word + 1] = 0
        return
      }
      break
    case 'bool':
      if (typeof value === 'boolean') {
        words[word] = value ? 1 : 0
        words[word + 1] = 0
        return
      }
      break
    case 'target':
      if (word === -1) return
      words[word] = value as number
      words[word + 1] = (value as number) / TWO_32
      return
    case 'struct':
      storeStruct(slot, value as Uint8Array)
      return
    case 'narrow':
      storeNarrow(slot, value)
      return
    default:
      if (typeof value === 'number' && storeSmall(kind, word, value)) return
  }
  storeRest(slot, kind, value)
}

/** Stores an integer of 8 or 16 bits. @returns whether it is in range */
function storeSmall(kind: 'int8' | 'uint8' | 'int16' | 'uint16', word: number, value: number): boolean {
  const bits = kind === 'int8' || kind === 'uint8' ? 24 : 16
  const isSigned = kind === 'int8' || kind === 'int16'
  if ((isSigned ? (value << bits) >> bits : (value << bits) >>> bits) !== value) return false
  words[word] = value
  words[word + 1] = value >> 31
  return true
}

/** Stores a bigint for an integer below 64 bits. @throws {ArgumentError} for every other value. */
function storeRest(slot: Slot, kind: Exclude<ValueType, 'pointer'>, value: Resolved): void {
  const { name } = slot
  if (kind === 'bool') throw wrongType(name, 'true or false', value)
  if (kind === 'float32' || kind === 'float64') throw wrongType(name, 'a number', value)
  if (typeof value !== 'number' && typeof value !== 'bigint') throw wrongType(name, 'a number or bigint', value)
  const [low, high] = rangeOf(kind)
  if (typeof value === 'number' || value < low || value > high) {
    throw wrongValue(name, `a whole number from ${low} to ${high}`, value)
  }
  store(slot, Number(value))
}

function rangeOf(kind: Exclude<ValueType, 'bool' | 'float32' | 'float64' | 'pointer'>): [low: bigint, high: bigint] {
  const bits = BigInt(8 * VALUE_SIZES[kind])
  const low = kind.startsWith('u') ? 0n : -(2n ** (bits - 1n))
  return [low, low + 2n ** bits - 1n]
}

function storeStruct({ plan, call }: Slot, value: Uint8Array): void {
  const { copy, pieces, word, byteSize } = plan!
  if (copy === null) {
    for (const piece of pieces) {
      bytes.set(value.subarray(piece.offset, piece.offset + piece.byteSize), piece.word * 4)
    }
    return
  }
  words[copy.entry + COPY_ENTRY.word] = word
  words[copy.entry + COPY_ENTRY.source] = copy.byteOffset - WORDS.copies * 4
  words[copy.entry + COPY_ENTRY.byteSize] = byteSize
  words[copy.entry + COPY_ENTRY.place] = copy.place
  bytes.set(value, copy.byteOffset)
  words[WORDS.copyCount] = call.copyCount
  words[WORDS.copySize] = call.copySize
}

/** Results are not needed before the call, so scalars are stored in their words first. */
const STAGE = WORDS.generalResults

function storeNarrow(slot: Slot, value: Resolved): void {
  const { kind, byteOffset, byteSize, second } = slot.plan!
  store({ ...slot, kind: kind as ValueType, word: STAGE }, value)
  bytes.copyWithin(byteOffset, STAGE * 4, STAGE * 4 + byteSize)
  if (second !== -1) bytes.copyWithin(second * 4, STAGE * 4, STAGE * 4 + 8)
}
