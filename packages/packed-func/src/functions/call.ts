import type { CallTrace, Tensor } from '@tenon/core'
import {
  guardMode,
  isTraced as isAnyTraced,
  newTrace,
  profiling,
  traceAgain,
  typesOf,
  wrongType,
} from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { NOT_MADE as CALL_NOT_MADE, TENSORS } from '../native/perform.ts'
import { openStack, PENDING, SLOT_COUNT, TEXT_SIZE, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { catchUp, Cell, cellOf, openCell, type NativeObject } from '../objects/native-object.ts'
import { handOver, settleTensors, type LentTensors } from '../tensors/pack-tensor.ts'
import type { Signature } from '../typed/descriptor.ts'
import type { Argument, Value } from '../values/argument.ts'
import { makePut } from '../values/put.ts'
import { SMALL } from '../values/text.ts'
import { unpack } from '../values/unpack.ts'
import { checkedPackedCall } from './guarded-calls.ts'

/**
 * The properties of a packed function that calls read. V8 keeps the fields of a function, other than those of an object, outside of it, and to
 * read them there takes a nanosecond longer.
 */
export class Callee extends Cell {
  /** A function without the fields of a native object, which the constructor of `PackedFunc` adds. */
  readonly owner: NativeObject

  /** @param typed the function that checks types before it calls this one. By default one of any values is made. */
  constructor(typeIndex: number, handle: number, name: string, typed?: (callee: Callee) => object) {
    super(typeIndex, handle)
    this.owner = typed === undefined ? callableOf(this, name) : (typed(this) as NativeObject)
  }
}

/**
 * The properties of a packed function that calls read.
 *
 * @throws {ArgumentError} if the object is not a function. @throws {ScopeClosedError} if it only inherits from one, as a Proxy does.
 */
export function calleeOf(target: NativeObject): Callee {
  const cell = cellOf(target)
  if (cell instanceof Callee) return cell
  openCell(target)
  throw wrongType('the object', 'a packed function', target)
}

/** As {@link calleeOf}, for a function whose address is used. @throws {ScopeClosedError} if it is closed. */
export function openCallee(target: NativeObject): Callee {
  const callee = calleeOf(target)
  openCell(target)
  return callee
}

/**
 * The computed key makes `name` an ordinary field. If it is defined later, V8 looks up all fields in a hash table. The default
 * value makes the length 0, because there may be any number of values. The function is small, so that V8 inlines it.
 */
function callableOf(callee: Callee, name: string): NativeObject {
  const { none, one, few, all, isTraced } = calls()
  const callables = {
    [name](a: Argument = undefined, b?: Argument, c?: Argument): Value {
      const count = arguments.length
      if (isTraced())
        return traceAll(callee, count > 3 ? (Array.from(arguments) as Argument[]) : listOf(count, a, b, c))
      if (count === 0) return none(callee)
      if (count === 1) return one(callee, a)
      return count > 3 ? all(callee, Array.from(arguments), readResult) : few(callee, count, a, b, c)
    },
  }
  return callables[name] as unknown as NativeObject
}

/** The ways to call a function on the stack of this thread. */
interface Calls {
  none(target: Callee): Value
  one(target: Callee, a: Argument): Value
  /** With two or three values. */
  few(target: Callee, count: number, a: Argument, b: Argument, c: Argument): Value
  /** With values that a signature checks: as many as it has parameters, at most three. */
  typedFew(target: Callee, signature: Signature, count: number, a: unknown, b: unknown, c: unknown): Value
  /** Whether calls publish events. See `isTraced()` of the core. */
  isTraced(): boolean
  /** `read` gets the result before its slot is used again. */
  all<Result>(
    target: Callee,
    values: readonly unknown[],
    read: (s: Stack, base: number, typeIndex: number) => Result,
  ): Result
}

let opened: Calls | undefined

export function calls(): Calls {
  return (opened ??= guardMode ? guardedCalls(makeCalls(openStack())) : makeCalls(openStack()))
}

/**
 * Constants of a function are part of compiled code, but the bundler turns those of a module into variables. Named parameters, and
 * int32 values written inline: an array and a loop take a third longer. `finally` would take longer than an argument. What
 * follows a call that failed calls as little as possible, because the stack may be full. What is left in `undo` then is undone by the call
 * around, or after the next outermost call with arguments.
 */
function makeCalls(s: Stack): Calls {
  const { i32, f64, head, undo, perform, performText } = s
  const { any: put, takes, typed: putTyped } = makePut(s)
  const { Int: INT, Float: FLOAT, SmallStr: SMALL_STR, Str: STR } = TypeIndex
  const PROFILED = profiling
  const [TENSORS_WORD, PENDING_WORD, LAST_SLOT] = [TENSORS, PENDING, SLOT_COUNT]
  const [NOT_MADE, SMALL_TEXT, TEXT_LIMIT] = [CALL_NOT_MADE, SMALL, TEXT_SIZE]

  function read(base: number, typeIndex: number): Value {
    const low = i32[base * 4 + 2]!
    if (typeIndex === INT && i32[base * 4 + 3] === low >> 31) return low
    if (typeIndex === FLOAT) return f64[base * 2 + 1]!
    return readOther(base, typeIndex)
  }

  function readOther(base: number, typeIndex: number): Value {
    if ((typeIndex !== STR && typeIndex !== SMALL_STR) || s.returnedText === undefined)
      return readResult(s, base, typeIndex)
    const text = s.returnedText
    s.returnedText = undefined
    return text
  }

  /** Calls with text that does not fit into its slot. Returns NOT_MADE if the text must be packed in another way. */
  function performWithText(target: Callee, base: number, text: string): number {
    // A character takes at most three bytes, and the last byte stays free, so that the text is known to fit.
    const capacity = text.length * 3 + 2
    if (performText === undefined || capacity > TEXT_LIMIT - s.text) return NOT_MADE
    const offset = s.textOffset()
    s.text += capacity
    if (PROFILED) s.callee = nameOf(target)
    return performText(base, target.lo, target.hi, text, offset, capacity)
  }

  const forms: Calls = {
    isTraced: isAnyTraced,

    none(target) {
      if (target.handle === 0) openCell(target.owner)
      const base = s.top
      if (base + 1 > LAST_SLOT) throw s.full(0)
      s.top = base + 1
      let result: Value = null
      let failed = false
      let failure: unknown
      try {
        if (PROFILED) s.callee = nameOf(target)
        result = read(base, perform(base, target.lo, target.hi, 0, 0))
      } catch (error) {
        failed = true
        failure = error
      }
      s.top = base
      if (base === 0 && head[PENDING_WORD] !== 0) catchUp(s)
      if (failed) throw failure
      return result
    },

    one(target, a) {
      if (target.handle === 0) openCell(target.owner)
      const { top: base, text } = s
      const undone = undo.length
      if (base + 2 > LAST_SLOT) throw s.full(1)
      s.top = base + 2
      let tensors = 0
      let result: Value = null
      let failed = false
      let failure: unknown
      try {
        let typeIndex = NOT_MADE
        if (typeof a === 'number' && (a | 0) === a && (a !== 0 || 1 / a > 0)) {
          const at = base * 4
          i32[at + 4] = INT
          i32[at + 5] = 0
          i32[at + 6] = a
          i32[at + 7] = a >> 31
        } else {
          if (typeof a === 'string' && a.length > SMALL_TEXT) typeIndex = performWithText(target, base, a)
          if (typeIndex === NOT_MADE) tensors = put(base + 1, 0, a)
        }
        if (PROFILED) s.callee = nameOf(target)
        if (typeIndex === NOT_MADE) typeIndex = perform(base, target.lo, target.hi, 1, tensors)
        if (tensors !== 0 && head[TENSORS_WORD] !== 0) handOver(s, [a])
        result = read(base, typeIndex)
      } catch (error) {
        failed = true
        failure = error
      }
      s.top = base
      if (tensors !== 0) {
        const kept = head[TENSORS_WORD]!
        if (kept === 0) (a as Tensor).gate.calls--
        else {
          undo[undo.length] = { settle: settleTensors, values: [a], tensors, kept } as LentTensors
          head[TENSORS_WORD] = 0
        }
      }
      if (undo.length !== undone) s.settle(undone)
      if (s.text !== text) s.text = text
      if (base === 0 && (head[PENDING_WORD] !== 0 || undo.length !== 0)) catchUp(s)
      if (failed) throw failure
      return result
    },

    few(target, count, a, b, c) {
      if (target.handle === 0) openCell(target.owner)
      const { top: base, text } = s
      const undone = undo.length
      const at = base * 4
      const top = base + count + 1
      if (top > LAST_SLOT) throw s.full(count)
      s.top = top
      let tensors = 0
      let result: Value = null
      let failed = false
      let failure: unknown
      try {
        if (typeof a === 'number' && (a | 0) === a && (a !== 0 || 1 / a > 0)) {
          i32[at + 4] = INT
          i32[at + 5] = 0
          i32[at + 6] = a
          i32[at + 7] = a >> 31
        } else {
          tensors = put(base + 1, 0, a)
        }
        if (typeof b === 'number' && (b | 0) === b && (b !== 0 || 1 / b > 0)) {
          i32[at + 8] = INT
          i32[at + 9] = 0
          i32[at + 10] = b
          i32[at + 11] = b >> 31
        } else {
          tensors |= put(base + 2, 1, b)
        }
        if (count > 2) {
          if (typeof c === 'number' && (c | 0) === c && (c !== 0 || 1 / c > 0)) {
            i32[at + 12] = INT
            i32[at + 13] = 0
            i32[at + 14] = c
            i32[at + 15] = c >> 31
          } else {
            tensors |= put(base + 3, 2, c)
          }
        }
        if (PROFILED) s.callee = nameOf(target)
        const typeIndex = perform(base, target.lo, target.hi, count, tensors)
        if (tensors !== 0 && head[TENSORS_WORD] !== 0) handOver(s, [a, b, c])
        result = read(base, typeIndex)
      } catch (error) {
        failed = true
        failure = error
      }
      s.top = base
      if (tensors !== 0) {
        const kept = head[TENSORS_WORD]!
        if (kept === 0) {
          if ((tensors & 1) !== 0) (a as Tensor).gate.calls--
          if ((tensors & 2) !== 0) (b as Tensor).gate.calls--
          if ((tensors & 4) !== 0) (c as Tensor).gate.calls--
        } else {
          undo[undo.length] = { settle: settleTensors, values: [a, b, c], tensors, kept } as LentTensors
          head[TENSORS_WORD] = 0
        }
      }
      if (undo.length !== undone) s.settle(undone)
      if (s.text !== text) s.text = text
      if (base === 0 && (head[PENDING_WORD] !== 0 || undo.length !== 0)) catchUp(s)
      if (failed) throw failure
      return result
    },

    typedFew(target, signature, count, a, b, c) {
      const { parameters } = signature
      if (
        count > 0 &&
        takes(parameters[0]!, a) &&
        (count < 2 || takes(parameters[1]!, b)) &&
        (count < 3 || takes(parameters[2]!, c))
      ) {
        return count === 1
          ? forms.one(target, a as Argument)
          : forms.few(target, count, a as Argument, b as Argument, c as Argument)
      }
      if (target.handle === 0) openCell(target.owner)
      const { top: base, text } = s
      const undone = undo.length
      const top = base + count + 1
      if (top > LAST_SLOT) throw s.full(count)
      s.top = top
      let tensors = 0
      let result: Value = null
      let failed = false
      let failure: unknown
      try {
        if (count > 0) tensors = putTyped(base + 1, 0, parameters[0]!, a, signature)
        if (count > 1) tensors |= putTyped(base + 2, 1, parameters[1]!, b, signature)
        if (count > 2) tensors |= putTyped(base + 3, 2, parameters[2]!, c, signature)
        if (PROFILED) s.callee = nameOf(target)
        const typeIndex = perform(base, target.lo, target.hi, count, tensors)
        if (tensors !== 0 && head[TENSORS_WORD] !== 0) handOver(s, [a, b, c])
        result = read(base, typeIndex)
      } catch (error) {
        failed = true
        failure = error
      }
      s.top = base
      if (tensors !== 0) {
        const kept = head[TENSORS_WORD]!
        if (kept === 0) {
          if ((tensors & 1) !== 0) (a as Tensor).gate.calls--
          if ((tensors & 2) !== 0) (b as Tensor).gate.calls--
          if ((tensors & 4) !== 0) (c as Tensor).gate.calls--
        } else {
          undo[undo.length] = { settle: settleTensors, values: [a, b, c], tensors, kept } as LentTensors
          head[TENSORS_WORD] = 0
        }
      }
      if (undo.length !== undone) s.settle(undone)
      if (s.text !== text) s.text = text
      if (base === 0 && (head[PENDING_WORD] !== 0 || undo.length !== 0)) catchUp(s)
      if (failed) throw failure
      return result
    },

    all(target, values, readAs) {
      if (target.handle === 0) openCell(target.owner)
      const { top: base, text } = s
      const undone = undo.length
      let tensors = 0
      s.enter(values.length)
      try {
        for (let i = 0; i < values.length; i++) {
          const bit = put(base + 1 + i, i, values[i])
          tensors |= bit
        }
        if (PROFILED) s.callee = nameOf(target)
        const typeIndex = perform(base, target.lo, target.hi, values.length, tensors)
        if (tensors !== 0 && head[TENSORS_WORD] !== 0) handOver(s, values)
        return readAs(s, base, typeIndex)
      } finally {
        s.top = base
        const kept = head[TENSORS_WORD]!
        if (kept !== 0) {
          undo[undo.length] = { settle: settleTensors, values, tensors, kept } as LentTensors
          head[TENSORS_WORD] = 0
        } else if (tensors !== 0) {
          for (let i = 0; tensors >> i !== 0; i++) if (((tensors >> i) & 1) !== 0) (values[i] as Tensor).gate.calls--
        }
        if (undo.length !== undone) s.settle(undone)
        s.text = text
        if (base === 0 && (head[PENDING_WORD] !== 0 || undo.length !== 0)) catchUp(s)
      }
    },
  }
  return forms
}

/** Makes the ways to call a function in guard mode. */
function guardedCalls({ none, one, few, typedFew, all, isTraced }: Calls): Calls {
  return {
    isTraced,
    none,
    one: (target, a) => checkedPackedCall(target.owner, [a], () => one(target, a)),
    few: (target, count, a, b, c) => checkedPackedCall(target.owner, [a, b, c], () => few(target, count, a, b, c)),
    typedFew: (target, signature, count, a, b, c) =>
      checkedPackedCall(target.owner, [a, b, c], () => typedFew(target, signature, count, a, b, c)),
    all: (target, values, readAs) => checkedPackedCall(target.owner, values, () => all(target, values, readAs)),
  }
}

/** `Array.from()` of three values takes as long as a short call. */
function listOf(count: number, a: Argument, b: Argument, c: Argument): readonly Argument[] {
  if (count === 3) return [a, b, c]
  if (count === 2) return [a, b]
  return count === 1 ? [a] : []
}

type Plain = (...values: readonly Argument[]) => Value

/** Calls a function again, between the events of the call. */
const traceAll = (callee: Callee, values: readonly Argument[]): Value =>
  traceAgain(packedTrace(callee, values, false), () => (callee.owner as unknown as Plain)(...values))

/** Makes the message of a call. */
export const packedTrace = (callee: Callee, values: readonly unknown[], isAsync: boolean): CallTrace =>
  newTrace(nameOf(callee), 'packed', typesOf(values), isAsync)

const nameOf = ({ owner }: Callee): string => (owner as unknown as { readonly name: string }).name

export function readResult(s: Stack, base: number, typeIndex: number): Value {
  if (typeIndex === -1) throw takeError(s, base)
  return unpack(s, base, typeIndex)
}
