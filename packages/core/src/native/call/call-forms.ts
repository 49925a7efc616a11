import { ArgumentError, NativeError } from '../../errors/kinds.ts'
import { Block, checkEnterable } from '../../memory/block.ts'
import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import type { Gate, Gated } from '../../memory/lifetime.ts'
import type { Segment } from '../../memory/segment.ts'
import type { Value } from '../argument-conversion.ts'
import { lastError } from '../core-library.ts'
import type { ValueType } from '../value-type.ts'
import type { Piece } from './call-plan.ts'
import { WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { takeThrown } from './functions.ts'
import { load, loadStruct } from './load.ts'
import { operandOf, resolve, type Resolved, type Slot, store } from './store.ts'

/** A result, and the value of `errno` after the call. */
export interface ValueWithErrno {
  readonly value: Value
  readonly errno: number
}

export type Form = (...values: readonly Value[]) => Value | ValueWithErrno

/** A function, as calls need it. */
export interface Target {
  readonly name: string
  readonly gate: Gate
  /** The library, as an operand. Also the placeholder for arguments that are not memory. */
  readonly self: Gated
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
}

/**
 * Returns the function that performs calls. Each number of arguments up to four has a separate implementation, because rest
 * arrays and loops cost more than the call.
 */
export function formOf(target: Target): Form {
  return (forms[target.slots.length] ?? ofMany)(target)
}

const forms: readonly ((target: Target) => Form)[] = [ofNone, ofOne, ofTwo, ofThree, ofFour]

function ofNone(target: Target): Form {
  const { self, enter } = target
  const operands = Object.freeze([self])
  return function () {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      enter()
      return finish(target, undefined)
    } finally {
      leaveCall()
    }
  }
}

function ofOne(target: Target): Form {
  const { self, isPlain, enter } = target
  const own = Object.freeze([self])
  const [slot] = target.slots as [Slot]
  return function (value) {
    check(target, arguments.length)
    let operands: readonly Gated[] = own
    let a: Resolved = value
    if (!isPlain) {
      operands = [self, operandOf(value, self)]
      a = resolve(slot, value)
      checkOperands(operands)
    }
    enterCall(operands)
    try {
      begin(target)
      store(slot, a)
      enter()
      return finish(target, value)
    } finally {
      leaveCall()
    }
  }
}

function ofTwo(target: Target): Form {
  const { self, isPlain, enter } = target
  const own = Object.freeze([self])
  const [slot0, slot1] = target.slots as [Slot, Slot]
  return function (value0, value1) {
    check(target, arguments.length)
    let operands: readonly Gated[] = own
    let a: Resolved = value0
    let b: Resolved = value1
    if (!isPlain) {
      operands = [self, operandOf(value0, self), operandOf(value1, self)]
      a = resolve(slot0, value0)
      b = resolve(slot1, value1)
      checkOperands(operands)
    }
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      enter()
      return finish(target, value0)
    } finally {
      leaveCall()
    }
  }
}

function ofThree(target: Target): Form {
  const { self, isPlain, enter } = target
  const own = Object.freeze([self])
  const [slot0, slot1, slot2] = target.slots as [Slot, Slot, Slot]
  return function (value0, value1, value2) {
    check(target, arguments.length)
    let operands: readonly Gated[] = own
    let a: Resolved = value0
    let b: Resolved = value1
    let c: Resolved = value2
    if (!isPlain) {
      operands = [self, operandOf(value0, self), operandOf(value1, self), operandOf(value2, self)]
      a = resolve(slot0, value0)
      b = resolve(slot1, value1)
      c = resolve(slot2, value2)
      checkOperands(operands)
    }
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      store(slot2, c)
      enter()
      return finish(target, value0)
    } finally {
      leaveCall()
    }
  }
}

function ofFour(target: Target): Form {
  const { self, isPlain, enter } = target
  const own = Object.freeze([self])
  const [slot0, slot1, slot2, slot3] = target.slots as [Slot, Slot, Slot, Slot]
  return function (value0, value1, value2, value3) {
    check(target, arguments.length)
    let operands: readonly Gated[] = own
    let a: Resolved = value0
    let b: Resolved = value1
    let c: Resolved = value2
    let d: Resolved = value3
    if (!isPlain) {
      operands = [
        self,
        operandOf(value0, self),
        operandOf(value1, self),
        operandOf(value2, self),
        operandOf(value3, self),
      ]
      a = resolve(slot0, value0)
      b = resolve(slot1, value1)
      c = resolve(slot2, value2)
      d = resolve(slot3, value3)
      checkOperands(operands)
    }
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      store(slot2, c)
      store(slot3, d)
      enter()
      return finish(target, value0)
    } finally {
      leaveCall()
    }
  }
}

function ofMany(target: Target): Form {
  const { self, slots, isPlain, enter } = target
  const own = Object.freeze([self])
  return (...values) => {
    check(target, values.length)
    let operands: readonly Gated[] = own
    let resolved: readonly Resolved[] = values
    if (!isPlain) {
      operands = operandsOf(target, values)
      resolved = resolveAll(target, values)
      checkOperands(operands)
    }
    enterCall(operands)
    try {
      begin(target)
      for (let i = 0; i < slots.length; i++) store(slots[i]!, resolved[i])
      enter()
      return finish(target, values[0])
    } finally {
      leaveCall()
    }
  }
}

export function operandsOf({ self, slots }: Target, values: readonly Value[]): Gated[] {
  const operands = [self]
  for (let i = 0; i < slots.length; i++) operands.push(operandOf(values[i], self))
  return operands
}

export function resolveAll({ slots }: Target, values: readonly Value[]): Resolved[] {
  const resolved: Resolved[] = []
  for (let i = 0; i < slots.length; i++) resolved.push(resolve(slots[i]!, values[i]))
  return resolved
}

/**
 * Checks that the library and the memory of the arguments are open, after {@link resolve} has run the user's code, which may
 * have closed them. @throws {ScopeClosedError | WrongThreadError}
 */
export function checkOperands(operands: readonly Gated[]): void {
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i]!
    if (operand instanceof Block) checkEnterable(operand)
    else if (!operand.gate.open) operand.gate.owner.checkOpen()
  }
}

/** @throws {ArgumentError} for a wrong number of arguments. @throws {ScopeClosedError} after the library has closed. */
export function check({ name, gate, slots }: Target, count: number): void {
  if (count !== slots.length) throw wrongCount(name, slots, count)
  if (!gate.open) gate.owner.checkOpen()
}

function wrongCount(name: string, slots: readonly Slot[], count: number): ArgumentError {
  const hidden = slots[0]?.kind === 'target' ? 1 : 0
  return new ArgumentError(`${name} takes ${slots.length - hidden} arguments, got ${count - hidden}`)
}

/** Stores everything but the arguments. */
export function begin({ low, high, flags, stackSize, extra }: Target): void {
  words[WORDS.target] = low
  words[WORDS.target + 1] = high
  words[WORDS.flags] = flags
  words[WORDS.stackSize] = stackSize
  words[WORDS.extra] = extra
  words[WORDS.extra + 1] = 0
}

/** Loads the result. `first` is the first argument. @throws what a callback has thrown, and {NativeError}. */
export function finish(target: Target, first: Value): Value | ValueWithErrno {
  if (words[WORDS.state] !== 0) throw failureOf(target)
  const { resultKind, resultWord } = target
  if (resultKind === 'struct' || target.capturesErrno) return finishSlowly(target, first)
  return load(resultKind, resultWord)
}

function finishSlowly(target: Target, first: Value): Value | ValueWithErrno {
  const { resultKind, resultWord, resultPieces, slots, capturesErrno } = target
  const errno = words[WORDS.errno]!
  let value: Value
  if (resultKind === 'struct') {
    const struct = loadStruct(resultPieces, slots[0]!.byteSize)
    const { block, base } = first as Segment
    block.bytes.set(struct, base)
  } else {
    value = load(resultKind, resultWord)
  }
  return capturesErrno ? { value, errno } : value
}

/** How a call has ended if its status is not 0. */
const THROWN = 1

function failureOf({ name }: Target): unknown {
  if (words[WORDS.state] === THROWN) return takeThrown()
  return new NativeError(`${name} threw a C++ exception: ${lastError()}`)
}
