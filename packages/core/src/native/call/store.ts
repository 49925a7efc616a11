import { wrongType, wrongValue } from '../../errors/check-arguments.ts'
import { describe } from '../../errors/describe.ts'
import { ArgumentError, ReadOnlyError } from '../../errors/kinds.ts'
import { Block, checkUsable } from '../../memory/block.ts'
import type { Gate } from '../../memory/lifetime.ts'
import { addressIn, NO_ADDRESS } from '../../memory/pointer-address.ts'
import { DEVICE_MEMORY, READ_ONLY, Segment } from '../../memory/segment.ts'
import { Tensor } from '../../types/tensor.ts'
import type { Value } from '../argument-conversion.ts'
import { memoryOf } from '../memory-of.ts'
import { VALUE_SIZES, type ValueType } from '../value-type.ts'
import type { CallPlan, ParameterPlan } from './call-plan.ts'
import { COPY_ENTRY, TEXT_PLAN, WORDS } from './frame-layout.ts'
import { addressOfView, operandOfView, reasonAgainst } from './view-operands.ts'
import { bigints, bytes, doubles, floats, PER_TWO_32, words } from './frame.ts'
import { frameWords as frame, type StructSource, toWords } from './struct-bytes.ts'

/** Where an argument is stored, and how messages name it. */
export interface Slot {
  /**
   * `target`: the segment for a struct that the function returns. `struct`: a struct that is passed by value. `narrow`: a
   * scalar that does not have the two words of a register alone.
   */
  readonly kind: ValueType | 'target' | 'struct' | 'narrow'
  /** For the frequent kinds, whose code the compiler inlines into every call: `integer` has 32 or 64 bits. */
  readonly fast?: 'pointer' | 'integer' | 'float64' | undefined
  /** The first word. -1: nothing is stored. */
  readonly word: number
  readonly name: string
  /** The size of a struct in bytes. */
  readonly byteSize: number
  readonly plan: ParameterPlan | undefined
  readonly call: CallPlan
}

/** An argument as {@link resolve} returns it. A struct is its place in memory, and a string stays one. */
export type Resolved = Value | StructSource

export function slotOf(plan: ParameterPlan, call: CallPlan, name: string): Slot {
  const { kind, word, byteSize, second } = plan
  const isStruct = kind === 'struct' || kind === 'indirect'
  const slotKind = isStruct ? 'struct' : byteSize === 8 && second === -1 ? kind : 'narrow'
  return { kind: slotKind, fast: fastKind(slotKind), word, name, byteSize, plan, call }
}

export function fastKind(kind: Slot['kind']): Slot['fast'] {
  if (kind === 'pointer' || kind === 'float64') return kind
  return kind === 'int32' || kind === 'int64' ? 'integer' : undefined
}

/** The slot of the segment to which a struct is returned. Functions that return it in registers do not receive it. */
export function targetSlot(call: CallPlan, name: string): Slot {
  const { kind, word, byteSize } = call.result
  return {
    kind: 'target',
    fast: undefined,
    word: kind === 'memory' ? word : -1,
    name,
    byteSize,
    plan: undefined,
    call,
  }
}

const noView = new DataView(new ArrayBuffer(0))
const noBytes = Buffer.alloc(0)

/** Native code at an address, without memory to read. */
export const codeBlock = (gate: Gate, address: number): Block => new Block(gate, noView, noBytes, address)

/** The library, as an operand. It is also the operand of each argument that is not memory. */
export const codeOperand = (gate: Gate): Block => codeBlock(gate, NO_ADDRESS)

/** Whether a block is native code, and not memory. */
export const isCode = ({ view }: Block): boolean => view === noView

/**
 * Turns segments into their address or place. Everything that can run the user's code, such as a proxy of a segment, happens
 * here and in `operandOf()`, before anything is stored.
 *
 * @param operand the memory of a segment. It is not read from the value again, because a proxy could return other memory.
 * @throws {ArgumentError} if a segment is missing, or does not fit.
 */
function resolve(slot: Slot, value: Value, operand?: Block): Resolved {
  const { kind } = slot
  if (kind === 'pointer' || kind === 'text') {
    const address = isMemory(value) ? addressIn(operand!, value.base) : otherAddress(value, operand)
    if (address !== undefined) return address
    if (value === null) return 0
    if (kind === 'text' && typeof value === 'string') return value
    throw refusedPointer(slot, value, operand)
  }
  if (kind !== 'struct' && kind !== 'target') return value
  const { base } = structSegment(slot, value)
  if (kind === 'target') return operand!.address + base
  checkUsable(operand!)
  return { block: operand!, base }
}

/**
 * The address of a view or of an object that has memory. The result of a callback cannot be a view, because nothing would keep its memory.
 *
 * @param operand the memory that was found in the argument. An object that has other memory now has no address.
 */
function otherAddress(value: unknown, operand: Block | undefined): number | bigint | undefined {
  if (ArrayBuffer.isView(value)) return operand === undefined ? undefined : addressOfView(value)
  const memory = memoryOf(value)
  return memory instanceof Segment && memory.block === operand ? addressIn(operand, memory.base) : undefined
}

function refusedPointer({ kind, name }: Slot, value: unknown, operand: Block | undefined): ArgumentError {
  if (isTensor(value)) return stridedTensor(name, value)
  if (operand !== undefined && ArrayBuffer.isView(value)) {
    return new ArgumentError(
      `${name} must have a buffer that stays in place, got ${describe(value)} of a ${reasonAgainst(value)} one`,
      {
        hint: 'Copy the values to another array, or to memory of a scope.',
      },
    )
  }
  const arrays = operand === undefined ? '' : 'a typed array, '
  return wrongType(name, `${kind === 'text' ? 'a string, ' : ''}a segment, ${arrays}a tensor or null`, value, DANGLING)
}

/** A Proxy of a tensor is not one, because reading it runs code of the user. */
const isTensor = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && Tensor.isGenuine(value)

/** Whether a value is memory that a pointer describes in full. */
const isMemory = (value: unknown): value is Segment | Tensor =>
  value instanceof Segment || (isTensor(value) && value.isContiguous)

function stridedTensor(name: string, { type }: Tensor): ArgumentError {
  return new ArgumentError(`${name} must be contiguous, because a pointer has no strides, got a tensor ${type}`, {
    hint: 'Pass a row-major copy, x.contiguous().',
  })
}

const DANGLING = 'Put the bytes into memory of an allocator or a typed array, because addresses can dangle.'

const storeOtherResult = (slot: Slot, value: unknown): void => store(slot, resolveResult(slot, value as Value))

/** Resolves the result of a function. @throws {ScopeClosedError | WrongThreadError} if its memory is not open. */
export function resolveResult(slot: Slot, given: Value): Resolved {
  const value = memoryOf(given) as Value
  if (!isMemory(value)) return resolve(slot, value)
  const { block } = value
  checkUsable(block)
  return resolve(slot, value, block)
}

function structSegment({ kind, name, byteSize }: Slot, given: Value): Segment {
  const value = given instanceof Segment ? given : memoryOf(given)
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

/** The steps of a call for each argument. */
export interface ArgumentSteps {
  /** Returns the operand that keeps an argument's memory open during the call. */
  operandOf(value: unknown, code: Block): Block
  /** Resolves an argument. `operand` is what {@link operandOf} has returned for it. */
  resolveIn(operand: Block, slot: Slot, value: Value): Resolved
  /** As {@link resolveIn}, for pointers. An address is a bigint from 2^53 on. */
  addressIn(operand: Block, slot: Slot, value: Value): number | bigint
  /** As {@link store}, for pointers. */
  storeAddress(slot: Slot, address: number | bigint): void
  /**
   * As {@link store}, for the text at an index among those of the call. Native code stores the address of a string, so only its place
   * is stored.
   */
  storeText(slot: Slot, index: number, value: Resolved): void
  /** Checks a resolved argument and stores it in the frame. Runs none of the user's code, unless it throws. */
  store(slot: Slot, value: Resolved): void
  /**
   * As {@link store}, for arguments that are not memory. The compiler inlines about 900 bytes of code into a call, so the
   * frequent kinds and the others have separate functions.
   */
  storeScalar(slot: Slot, value: Resolved): void
  /** Stores what a function of TypeScript has returned. Without a slot, nothing is stored. @throws as {@link resolveResult} */
  storeResult(slot: Slot | undefined, value: unknown): void
}

interface Stores extends ArgumentSteps {
  setAddress(word: number, address: number | bigint): void
  setWords(word: number, low: number, high: number): void
  setDouble(word: number, value: number): void
}

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeStores(): Stores {
  const [frameWords, frameDoubles, perTwo32, noAddress, MemoryType] = [words, doubles, PER_TWO_32, NO_ADDRESS, Segment]
  const PLACES = TEXT_PLAN.places

  const setWords = (word: number, low: number, high: number): void => {
    frameWords[word] = low
    frameWords[word + 1] = high
  }
  const setAddress = (word: number, address: number | bigint): void => {
    if (typeof address === 'number') setWords(word, address, address * perTwo32)
    else setBigint(word, address)
  }
  const setDouble = (word: number, value: number): void => {
    frameDoubles[word >> 1] = value
  }
  // The words are stored here, because V8 inlines only so much bytecode into a call, and a call has this function once for each scalar.
  const storeScalar = (slot: Slot, value: Resolved): void => {
    const { fast, word } = slot
    if (typeof value === 'number') {
      if (fast === 'integer' && (value | 0) === value) {
        frameWords[word] = value
        frameWords[word + 1] = value >> 31
        return
      }
      if (fast === 'float64') {
        frameDoubles[word >> 1] = value
        return
      }
    }
    storeOther(slot, value)
  }
  return {
    setWords,
    setAddress,
    setDouble,
    storeScalar,
    storeResult: (slot, value) => {
      if (slot === undefined) return
      const { fast, word } = slot
      if (typeof value === 'number') {
        if (fast === 'integer' && (value | 0) === value) return setWords(word, value, value >> 31)
        if (fast === 'float64') return setDouble(word, value)
      }
      storeOtherResult(slot, value)
    },
    operandOf: (value, code) => (value instanceof MemoryType ? value.block : otherOperand(value, code)),
    resolveIn: (operand, slot, value) => {
      const { fast } = slot
      if (fast !== undefined && fast !== 'pointer') return value
      if (fast === 'pointer' && operand.address !== noAddress && value instanceof MemoryType)
        return operand.address + value.base
      return resolve(slot, value, operand)
    },
    addressIn: (operand, slot, value) => {
      if (operand.address !== noAddress && value instanceof MemoryType) return operand.address + value.base
      return resolve(slot, value, operand) as number | bigint
    },
    storeAddress: ({ word }, address) => setAddress(word, address),
    storeText: ({ word }, index, value) => {
      if (typeof value === 'string') {
        frameWords[PLACES + index] = word
      } else {
        frameWords[PLACES + index] = 0
        setAddress(word, value as number | bigint)
      }
    },
    store: (slot, value) => {
      if (slot.fast === 'pointer') setAddress(slot.word, value as number | bigint)
      else storeScalar(slot, value)
    },
  }
}

const { setAddress, setWords, setDouble, ...steps } = makeStores()
export const argumentSteps: ArgumentSteps = steps
export const operandOf: ArgumentSteps['operandOf'] = steps.operandOf
export const resolveIn: ArgumentSteps['resolveIn'] = steps.resolveIn
export const store: ArgumentSteps['store'] = steps.store

function otherOperand(value: unknown, code: Block): Block {
  if (isMemory(value)) return value.block
  if (ArrayBuffer.isView(value)) return operandOfView(value) ?? code
  const memory = memoryOf(value)
  return memory instanceof Segment ? memory.block : code
}

function storeOther(slot: Slot, value: Resolved): void {
  const { kind, word } = slot
  switch (kind) {
    case 'target':
      if (word !== -1) setAddress(word, value as number)
      return
    case 'pointer':
    case 'text':
      return setAddress(word, value as number | bigint)
    case 'struct':
      return storeStruct(slot, value as StructSource)
    case 'narrow':
      return storeNarrow(slot, value)
    case 'bool':
      if (typeof value === 'boolean') return setWords(word, value ? 1 : 0, 0)
      break
    case 'float64':
      if (typeof value === 'number') return setDouble(word, value)
      break
    case 'float32':
      if (typeof value === 'number') {
        floats[word] = value
        words[word + 1] = 0
        return
      }
      break
    case 'int64':
      if (typeof value === 'number') {
        if (Number.isSafeInteger(value)) return setWords(word, value, Math.floor(value * PER_TWO_32))
      } else if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) {
        return setBigint(word, value)
      }
      break
    case 'uint64':
      if (typeof value === 'number') {
        if (value >= 0 && Number.isSafeInteger(value)) return setAddress(word, value)
      } else if (typeof value === 'bigint' && BigInt.asUintN(64, value) === value) {
        return setBigint(word, value)
      }
      break
    case 'uint32':
      if (typeof value === 'number' && value >>> 0 === value) return setWords(word, value, 0)
      break
    default:
      if (typeof value === 'number' && narrowed(kind, value) === value) return setWords(word, value, value >> 31)
  }
  storeRest(slot, kind, value)
}

function setBigint(word: number, value: bigint): void {
  bigints[word >> 1] = value
}

function narrowed(kind: 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32', value: number): number {
  if (kind === 'int8') return (value << 24) >> 24
  if (kind === 'uint8') return value & 0xff
  if (kind === 'int16') return (value << 16) >> 16
  return kind === 'uint16' ? value & 0xffff : value | 0
}

/** Stores a bigint for an integer below 64 bits. @throws {ArgumentError} for every other value. */
function storeRest(slot: Slot, kind: Exclude<ValueType, 'pointer' | 'text'>, value: Resolved): void {
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

function rangeOf(
  kind: Exclude<ValueType, 'bool' | 'float32' | 'float64' | 'pointer' | 'text'>,
): [low: bigint, high: bigint] {
  const bits = BigInt(8 * VALUE_SIZES[kind])
  const low = kind.startsWith('u') ? 0n : -(2n ** (bits - 1n))
  return [low, low + 2n ** bits - 1n]
}

function storeStruct({ plan, call }: Slot, { block, base }: StructSource): void {
  const { copy, pieces, word, byteSize } = plan!
  if (copy === null) {
    for (let i = 0; i < pieces.length; i++) {
      const piece = pieces[i]!
      toWords(frame, piece.word, block, base + piece.offset, piece.byteSize)
    }
    return
  }
  words[copy.entry + COPY_ENTRY.word] = word
  words[copy.entry + COPY_ENTRY.source] = copy.byteOffset - WORDS.copies * 4
  words[copy.entry + COPY_ENTRY.byteSize] = byteSize
  words[copy.entry + COPY_ENTRY.place] = copy.place
  toWords(frame, copy.byteOffset >> 2, block, base, byteSize)
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
