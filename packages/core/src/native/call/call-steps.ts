import { ArgumentError } from '../../errors/kinds.ts'
import { CONSTANTS } from '../../generated/layouts.ts'
import { type Block, checkEnterable } from '../../memory/block.ts'
import type { Gate } from '../../memory/lifetime.ts'
import { checkCallable } from '../../memory/managed-lifetime.ts'
import type { Segment } from '../../memory/segment.ts'
import type { Value } from '../argument-conversion.ts'
import type { ValueType } from '../value-type.ts'
import type { Piece } from './call-plan.ts'
import { TEXT_PLAN, WORDS } from './frame-layout.ts'
import { bigints, doubles, words } from './frame.ts'
import { callFailure } from './call-failure.ts'
import { load, loadAddress } from './load.ts'
import { isCode, type Resolved, type Slot } from './store.ts'
import { loadStruct } from './struct-bytes.ts'
import { textWithoutEnd } from '../text-at.ts'
import { textFailure } from './texts.ts'

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
  /** Does the same for a call with texts. Undefined without Node-API. */
  readonly enterWithTexts: ((...strings: readonly unknown[]) => string | null | undefined) | undefined
  /** The address of the function in two words. */
  readonly low: number
  readonly high: number
  readonly flags: number
  readonly stackSize: number
  /** The number of vector registers on x86-64. */
  readonly extra: number
  /** The segment for a returned struct comes first. */
  readonly slots: readonly Slot[]
  /** The number of slots. */
  readonly count: number
  /** The slots of texts. */
  readonly texts: readonly Slot[]
  /** `struct`: in registers, so its bytes are copied to the first argument. */
  readonly resultKind: ValueType | 'struct' | 'void'
  readonly resultWord: number
  readonly resultPieces: readonly Piece[]
  readonly capturesErrno: boolean
  readonly pointer: (address: number | bigint) => Segment
  /** The kinds whose code the compiler inlines into every call. */
  readonly fastResult: 'void' | 'int32' | 'float64' | 'int64' | undefined
}

/** The steps of a call. Between `begin()` and the end of `finish()` no code of the user runs, except for callbacks. */
export interface CallSteps {
  /** @throws {ArgumentError} for a wrong number of arguments. @throws {ScopeClosedError} after the library has closed. */
  check(target: Target, count: number): void
  /**
   * Checks that the library or the memory of an argument is open, after the user's code has run, which may have closed it.
   *
   * @throws {ScopeClosedError | WrongThreadError} if it is not open.
   */
  checkOperand(operand: Block): void
  /** Stores everything but the arguments. */
  begin(target: Target): void
  /** Performs the call, with the library held open. */
  perform(target: Target): void
  /**
   * As {@link perform}, for a function that takes or returns texts. Returns the text, or undefined if none is returned or it has no end.
   *
   * @param a what the first text was resolved to, which is a string or an address.
   * @throws {ArgumentError} if a string contains U+0000.
   */
  performTexts(target: Target, a?: Resolved, b?: Resolved, c?: Resolved): string | null | undefined
  /** As {@link performTexts}, without holding the library, and for any number of texts. */
  enterTexts(target: Target, ...values: readonly Resolved[]): string | null | undefined
  /**
   * Loads the result.
   *
   * @param memory the operand of the first argument, which can be the segment for a struct.
   * @param first what the first argument was resolved to.
   * @throws what a function of TypeScript has thrown. @throws {NativeError} after a C++ exception.
   */
  finish(target: Target, memory: Block, first: Resolved): Value | ValueWithErrno
  /** As {@link finish} after {@link performTexts}. @throws {NativeError} for a text without an end. */
  finishTexts(target: Target, text: string | null | undefined, memory: Block, first: Resolved): Value | ValueWithErrno
}

/**
 * Bundlers turn the constants of a module into variables, which compiled code has to load and to check at each use. The constants
 * of a function stay constants, down to the address of a word, which makes a call a fifth faster. `finally` costs as much as
 * two arguments, so an error of a call is caught and thrown again.
 */
function makeSteps(): CallSteps {
  const { target: TARGET, flags: FLAGS, stackSize: STACK_SIZE, extra: EXTRA, state: STATE } = WORDS
  const TARGET_HIGH = TARGET + 1
  const GENERAL_RESULT = WORDS.generalResults
  const BIGINT_RESULT = WORDS.generalResults / 2
  const VECTOR_RESULT = WORDS.vectorResults / 2
  const { count: TEXT_COUNT, returnsText: RETURNS_TEXT } = TEXT_PLAN
  const NOT_MADE = CONSTANTS.TN_CALL_NOT_MADE
  const [frameWords, frameDoubles, frameBigints] = [words, doubles, bigints]

  return {
    check: (target, count) => {
      if (count !== target.count || target.gate.open === false) refuse(target, count)
    },
    checkOperand: (operand) => {
      if (operand.gate.open === false || operand.exposed === true) checkClosing(operand)
    },
    begin: (target) => {
      frameWords[TARGET] = target.low
      frameWords[TARGET_HIGH] = target.high
      frameWords[FLAGS] = target.flags
      frameWords[STACK_SIZE] = target.stackSize
      frameWords[EXTRA] = target.extra
    },
    perform: ({ gate, enter }) => {
      gate.calls++
      try {
        enter()
      } catch (error) {
        gate.calls--
        throw error
      }
      gate.calls--
    },
    performTexts: (target, a, b, c) => {
      const { gate, enterWithTexts, texts } = target
      frameWords[TEXT_COUNT] = texts.length
      frameWords[RETURNS_TEXT] = target.resultKind === 'text' ? 1 : 0
      gate.calls++
      let text: string | null | undefined
      try {
        text = enterWithTexts!(a, b, c)
      } catch (error) {
        gate.calls--
        throw error
      }
      gate.calls--
      if (frameWords[STATE] === NOT_MADE) throw textFailure(texts, [a, b, c])
      return text
    },
    enterTexts: (target, ...values) => {
      const { enterWithTexts, texts } = target
      frameWords[TEXT_COUNT] = texts.length
      frameWords[RETURNS_TEXT] = target.resultKind === 'text' ? 1 : 0
      const text = enterWithTexts!(...values)
      if (frameWords[STATE] === NOT_MADE) throw textFailure(texts, values)
      return text
    },
    finishTexts: (target, text, memory, first) =>
      target.resultKind === 'text' ? finishText(target, text) : callSteps.finish(target, memory, first),
    finish: (target, memory, first) => {
      if (frameWords[STATE] !== 0) throw callFailure(target.name)
      const { fastResult } = target
      if (fastResult === 'int32') return frameWords[GENERAL_RESULT]
      if (fastResult === 'float64') return frameDoubles[VECTOR_RESULT]
      if (fastResult === 'int64') return frameBigints[BIGINT_RESULT]
      if (fastResult === 'void') return undefined
      return finishOther(target, memory, first)
    },
  }
}

/** Returns the text that native code has made. @throws as `finish` of the steps */
function finishText({ name, capturesErrno }: Target, text: string | null | undefined): Value | ValueWithErrno {
  if (words[WORDS.state] !== 0) throw callFailure(name)
  if (text === undefined) throw textWithoutEnd(loadAddress(WORDS.generalResults))
  return capturesErrno ? { value: text, errno: words[WORDS.errno]! } : text
}

export const callSteps: CallSteps = makeSteps()
export const check: CallSteps['check'] = callSteps.check
export const begin: CallSteps['begin'] = callSteps.begin
export const finish: CallSteps['finish'] = callSteps.finish

function refuse({ name, slots, gate }: Target, count: number): void {
  if (count === slots.length) return checkCallable(gate)
  const hidden = slots[0]?.kind === 'target' ? 1 : 0
  throw new ArgumentError(`${name} takes ${slots.length - hidden} arguments, got ${count - hidden}`)
}

/** Checks an operand whose owner is not open, or whose buffer may be gone. Close actions may call code, but not pass memory. */
function checkClosing(operand: Block): void {
  if (isCode(operand)) checkCallable(operand.gate)
  else checkEnterable(operand)
}

/** Checks that all operands are open. @throws {ScopeClosedError | WrongThreadError} if one is not open. */
export function checkOperands(operands: readonly Block[]): void {
  for (let i = 0; i < operands.length; i++) callSteps.checkOperand(operands[i]!)
}

function finishOther(target: Target, memory: Block, first: Resolved): Value | ValueWithErrno {
  const { resultKind, resultWord, resultPieces, slots, capturesErrno } = target
  const errno = words[WORDS.errno]!
  let value: Value
  if (resultKind === 'struct') {
    loadStruct(resultPieces, slots[0]!.byteSize, memory, (first as number) - memory.address)
  } else if (resultKind === 'pointer') {
    value = target.pointer(loadAddress(resultWord))
  } else {
    value = load(resultKind, resultWord)
  }
  return capturesErrno ? { value, errno } : value
}
