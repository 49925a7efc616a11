import { ArgumentError } from '../../errors/kinds.ts'
import { type Block, checkEnterable } from '../../memory/block.ts'
import type { Gate } from '../../memory/lifetime.ts'
import type { Value } from '../argument-conversion.ts'
import type { ValueType } from '../value-type.ts'
import type { Piece } from './call-plan.ts'
import { WORDS } from './frame-layout.ts'
import { bigints, doubles, words } from './frame.ts'
import { callFailure } from './call-failure.ts'
import { load, loadStruct } from './load.ts'
import type { Resolved, Slot } from './store.ts'

/** A result, and the value of `errno` after the call. */
export interface ValueWithErrno {
  readonly value: Value
  readonly errno: number
}

/** Performs a call. */
export type Form = (...values: readonly Value[]) => Value | ValueWithErrno

/** A function, as calls need it. */
export interface Target {
  readonly name: string
  readonly gate: Gate
  /** The library, as an operand. */
  readonly code: Block
  /** Enters native code, which performs the call that the frame describes. */
  readonly enter: () => void
  /** The address of the function in two words. */
  readonly low: number
  readonly high: number
  readonly flags: number
  readonly stackSize: number
  /** The number of vector registers on x86-64. */
  readonly extra: number
  /** The segment for a returned struct comes first. */
  readonly slots: readonly Slot[]
  /** Whether no parameter is memory, so that every call has the same operands. */
  readonly isPlain: boolean
  /** `struct`: in registers, so its bytes are copied to the first argument. */
  readonly resultKind: ValueType | 'struct' | 'void'
  readonly resultWord: number
  readonly resultPieces: readonly Piece[]
  readonly capturesErrno: boolean
  /** The kinds whose code the compiler inlines into every call. */
  readonly fastResult: 'int32' | 'float64' | 'int64' | undefined
}

// The compiler inlines about 900 bytes of code into a call, and a constant of a module takes half the code of a property.
const { target: TARGET, flags: FLAGS, stackSize: STACK_SIZE, extra: EXTRA, state: STATE } = WORDS
const TARGET_HIGH = TARGET + 1
const GENERAL_RESULT = WORDS.generalResults
const BIGINT_RESULT = WORDS.generalResults / 2
const VECTOR_RESULT = WORDS.vectorResults / 2

/** @throws {ArgumentError} for a wrong number of arguments. @throws {ScopeClosedError} after the library has closed. */
export function check(target: Target, count: number): void {
  if (count !== target.slots.length || !target.gate.open) refuse(target, count)
}

function refuse({ name, slots, gate }: Target, count: number): void {
  if (count === slots.length) return gate.owner.checkOpen()
  const hidden = slots[0]?.kind === 'target' ? 1 : 0
  throw new ArgumentError(`${name} takes ${slots.length - hidden} arguments, got ${count - hidden}`)
}

/**
 * Checks that the library and the memory of the arguments are open, after the user's code has run, which may have closed them.
 *
 * @throws {ScopeClosedError | WrongThreadError} if one is not open.
 */
export function checkOperands(operands: readonly Block[]): void {
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i]!
    if (!operand.gate.open || operand.exposed) checkEnterable(operand)
  }
}

/** Stores everything but the arguments. */
export function begin(target: Target): void {
  words[TARGET] = target.low
  words[TARGET_HIGH] = target.high
  words[FLAGS] = target.flags
  words[STACK_SIZE] = target.stackSize
  words[EXTRA] = target.extra
}

/**
 * Loads the result.
 *
 * @param memory the operand of the first argument, which can be the segment for a struct.
 * @param first what the first argument was resolved to.
 * @throws what a function of TypeScript has thrown. @throws {NativeError} after a C++ exception.
 */
export function finish(target: Target, memory: Block, first: Resolved): Value | ValueWithErrno {
  if (words[STATE] !== 0) throw callFailure(target.name)
  const { fastResult } = target
  if (fastResult === 'int32') return words[GENERAL_RESULT]
  if (fastResult === 'float64') return doubles[VECTOR_RESULT]
  if (fastResult === 'int64') return bigints[BIGINT_RESULT]
  return finishOther(target, memory, first)
}

function finishOther(target: Target, memory: Block, first: Resolved): Value | ValueWithErrno {
  const { resultKind, resultWord, resultPieces, slots, capturesErrno } = target
  const errno = words[WORDS.errno]!
  let value: Value
  if (resultKind === 'struct') {
    const struct = loadStruct(resultPieces, slots[0]!.byteSize)
    memory.bytes.set(struct, (first as number) - memory.address)
  } else {
    value = load(resultKind, resultWord)
  }
  return capturesErrno ? { value, errno } : value
}
