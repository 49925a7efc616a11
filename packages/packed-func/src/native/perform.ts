import {
  callNamed,
  CONSTANTS,
  highWord,
  LAYOUTS,
  lowWord,
  profiling,
  takeThrown,
  threadDriver,
  WORDS,
  words,
} from '@tenon/core/internal'
import { packedAddress, type PackedFunctions } from './entered.ts'
import { TypeIndex } from './type-index.ts'

const { offsets: HEAD } = LAYOUTS.tn_packed_head_t

/** The index in `head` of a mask: before a call its tensor arguments (bit i for argument i), after it those that were kept. */
export const TENSORS: number = HEAD.tensors / 4

/** The index in `head` of the next call: the first slot of its frame, and from bit {@link CALL_SHIFT} on the number of arguments. */
export const CALL: number = HEAD.call / 4
const CALL_SHIFT: number = CONSTANTS.TN_PACKED_CALL_SHIFT
/** A bit of `head[CALL]`: set before each call, and cleared when it begins. */
const CALL_SELECTED: number = CONSTANTS.TN_PACKED_CALL_SELECTED

/** The parts of the argument stack that calls use. */
interface PerformingStack {
  readonly host: PackedFunctions
  readonly address: number
  readonly i32: Int32Array
  readonly head: Int32Array
  /** The name of the function that is called, in profiles. */
  readonly callee: string
  /** The text that the call returned, if native code has made it. Set by each call whose result is a text or an object. */
  returnedText: string | undefined
  slotAddress(slot: number): number
  abandon(base: number): void
}

/** The place of calls in the table of entries, which all packages share. */
const CALL_ENTRY = 3

/**
 * Performs the call of the frame that begins at `base`, for the function whose address has the words `low` and `high`. Returns
 * the type index of the result, or -1. After a call that throws, too, `head[TENSORS]` has the tensors that native code kept.
 *
 * @throws what an upcall stub has thrown meanwhile
 */
export type Perform = (base: number, low: number, high: number, count: number, tensors: number) => number

/** As {@link Perform}, with one argument: text that is written to the text region at an offset, with at most `capacity` bytes. */
export type PerformText = (
  base: number,
  low: number,
  high: number,
  text: string,
  offset: number,
  capacity: number,
) => number

/** The result of {@link PerformText} if the text has U+0000, so that no call was made. */
export const NOT_MADE = -2

/** Constants of a function are part of compiled code. The bundler turns those of a module into variables. */
export function makePerform(stack: PerformingStack): { perform: Perform; performText?: PerformText } {
  const { i32, head, address } = stack
  const target = packedAddress('tn_packed_call')
  const driver = threadDriver()
  const { enter, enterWithText } =
    driver.textEntries?.(CALL_ENTRY, target) ?? withoutTexts(driver.entry(CALL_ENTRY, target))
  const frame = words
  const PROFILED = profiling
  const { general: STACK_LOW, state: STATE, errno: RESULT } = WORDS
  const STACK_HIGH = STACK_LOW + 1
  const [CALL_WORD, TENSORS_WORD, SELECTED, SHIFT] = [CALL, TENSORS, CALL_SELECTED, CALL_SHIFT]
  const [stackLow, stackHigh] = [lowWord(address), highWord(address)]
  const [TEXT_LOW, TEXT_HIGH, CAPACITY, CAPACITY_HIGH] = [2, 3, 4, 5].map((word) => STACK_LOW + word) as Four
  const [RAW_STR, FIRST_TEXT, CALL_NOT_MADE] = [TypeIndex.RawStr, TypeIndex.SmallStr, CONSTANTS.TN_CALL_NOT_MADE]

  function select(base: number, low: number, high: number, count: number): void {
    i32[base * 4 + 2] = low
    i32[base * 4 + 3] = high
    head[CALL_WORD] = base | (count << SHIFT) | SELECTED
    frame[STACK_LOW] = stackLow
    frame[STACK_HIGH] = stackHigh
  }

  /** Returns the type index of a result. @param text the result, if native code has made a string of it. */
  function resultOf(text: string | undefined): number {
    const typeIndex = frame[RESULT]!
    if (typeIndex >= FIRST_TEXT) stack.returnedText = text
    return typeIndex
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
    let text: string | undefined
    try {
      text = PROFILED ? callNamed(stack.callee, enter) : enter()
    } catch (error) {
      if (head[CALL_WORD] === 0) refuse(base, tensors, error)
      head[CALL_WORD] = 0
      head[TENSORS_WORD] = 0
      throw error
    }
    if (frame[STATE] === 0) return resultOf(text)
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
    let returned: string | undefined
    try {
      returned = PROFILED ? callNamed(stack.callee, enterWithText, text) : enterWithText(text)
    } catch (error) {
      if (head[CALL_WORD] === 0) refuse(base, 0, error)
      head[CALL_WORD] = 0
      throw error
    }
    if (frame[STATE] === 0) return resultOf(returned)
    if (frame[STATE] === CALL_NOT_MADE) return NOT_MADE
    return fail(base, 0)
  }
  return { perform, performText }
}

type Four = [number, number, number, number]

/** The entries of a driver that cannot pass texts. */
const withoutTexts = (enter: () => void): { enter(): string | undefined; enterWithText?: undefined } => ({
  enter: enter as () => undefined,
})
