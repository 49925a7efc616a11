import type { Tensor } from '@tenon/core'
import { highWord, lowWord } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { CALL, CALL_MEANT, CALL_SHIFT, openStack, PENDING, SLOT_COUNT, TENSORS, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { catchUp, type NativeObject } from '../objects/native-object.ts'
import { handOver } from '../tensors/pack-tensor.ts'
import type { Signature } from '../typed/descriptor.ts'
import type { Argument, Value } from '../values/argument.ts'
import { put, putTyped } from '../values/put.ts'
import { unpack } from '../values/unpack.ts'

let stack: Stack

/**
 * What calls read of a packed function. V8 keeps the fields of a function, other than those of an object, outside of it, and to
 * read them there takes a nanosecond longer.
 */
export class Callee {
  /** The function's own handle: 0 once it is closed. */
  handle: number
  readonly lo: number
  readonly hi: number
  /** A function without the fields of a native object, which the constructor of `PackedFunc` adds. */
  readonly owner: NativeObject

  constructor(handle: number, name: string) {
    stack ??= openStack()
    this.handle = handle
    this.lo = lowWord(handle)
    this.hi = highWord(handle)
    this.owner = callableOf(this, name)
  }
}

/**
 * The computed key makes `name` an ordinary field. If it is defined later, V8 looks up all fields in a hash table. The default
 * value makes the length 0, because there may be any number of values. The function is small, so that V8 inlines it.
 */
function callableOf(callee: Callee, name: string): NativeObject {
  const callables = {
    [name](a: Argument = undefined, b?: Argument, c?: Argument): Value {
      const count = arguments.length
      if (count === 0) return callNone(callee)
      if (count === 1) return callOne(callee, a)
      return count > 3 ? callAll(callee, Array.from(arguments), readResult) : callFew(callee, count, a, b, c)
    },
  }
  return callables[name] as unknown as NativeObject
}

/** Calls without values. It shares no code with {@link callFew}, which takes a sixth longer. */
function callNone(target: Callee): Value {
  const s = stack
  if (target.handle === 0) target.owner.checkAlive()
  const base = s.top
  const top = base + 1
  if (top > SLOT_COUNT) throw s.full(0)
  s.top = top
  try {
    s.i32[base * 4 + 2] = target.lo
    s.i32[base * 4 + 3] = target.hi
    s.head[CALL] = base | CALL_MEANT
    return readResult(s, base, s.perform(base))
  } finally {
    s.top = base
    if (base === 0 && s.head[PENDING] !== 0) catchUp(s)
  }
}

/** Calls with one value. As {@link callNone}, it is faster on its own. */
function callOne(target: Callee, a: Argument): Value {
  const s = stack
  if (target.handle === 0) target.owner.checkAlive()
  const { top: base, text, undo, i32 } = s
  const undone = undo.length
  const at = base * 4
  let tensors = 0
  const top = base + 2
  if (top > SLOT_COUNT) throw s.full(1)
  s.top = top
  try {
    if (typeof a === 'number' && (a | 0) === a && (a !== 0 || 1 / a > 0)) {
      i32[at + 4] = TypeIndex.Int
      i32[at + 5] = 0
      i32[at + 6] = a
      i32[at + 7] = a >> 31
    } else {
      tensors = put(s, base + 1, 0, a)
    }
    i32[at + 2] = target.lo
    i32[at + 3] = target.hi
    s.head[CALL] = base | (1 << CALL_SHIFT) | CALL_MEANT
    if (tensors !== 0) s.head[TENSORS] = tensors
    const typeIndex = s.perform(base)
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    return readResult(s, base, typeIndex)
  } finally {
    if (tensors !== 0) {
      if (s.head[TENSORS] !== 0) handOver(s, base)
      ;(a as Tensor).gate.exit()
    }
    if (undo.length !== undone) s.settle(undone)
    s.top = base
    if (s.text !== text) s.text = text
    if (base === 0 && s.head[PENDING] !== 0) catchUp(s)
  }
}

/** Calls with at most three values. Named parameters, and int32 values written inline: an array and a loop take a third longer. */
function callFew(target: Callee, count: number, a: Argument, b: Argument, c: Argument): Value {
  const s = stack
  if (target.handle === 0) target.owner.checkAlive()
  const { top: base, text, undo, i32 } = s
  const undone = undo.length
  const at = base * 4
  let tensors = 0
  const top = base + count + 1
  if (top > SLOT_COUNT) throw s.full(count)
  s.top = top
  try {
    if (count > 0) {
      if (typeof a === 'number' && (a | 0) === a && (a !== 0 || 1 / a > 0)) {
        i32[at + 4] = TypeIndex.Int
        i32[at + 5] = 0
        i32[at + 6] = a
        i32[at + 7] = a >> 31
      } else {
        tensors = put(s, base + 1, 0, a)
      }
    }
    if (count > 1) {
      if (typeof b === 'number' && (b | 0) === b && (b !== 0 || 1 / b > 0)) {
        i32[at + 8] = TypeIndex.Int
        i32[at + 9] = 0
        i32[at + 10] = b
        i32[at + 11] = b >> 31
      } else {
        tensors |= put(s, base + 2, 1, b)
      }
    }
    if (count > 2) {
      if (typeof c === 'number' && (c | 0) === c && (c !== 0 || 1 / c > 0)) {
        i32[at + 12] = TypeIndex.Int
        i32[at + 13] = 0
        i32[at + 14] = c
        i32[at + 15] = c >> 31
      } else {
        tensors |= put(s, base + 3, 2, c)
      }
    }
    i32[at + 2] = target.lo
    i32[at + 3] = target.hi
    s.head[CALL] = base | (count << CALL_SHIFT) | CALL_MEANT
    if (tensors !== 0) s.head[TENSORS] = tensors
    const typeIndex = s.perform(base)
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    return readResult(s, base, typeIndex)
  } finally {
    if (tensors !== 0) {
      if (s.head[TENSORS] !== 0) handOver(s, base)
      if ((tensors & 1) !== 0) (a as Tensor).gate.exit()
      if ((tensors & 2) !== 0) (b as Tensor).gate.exit()
      if ((tensors & 4) !== 0) (c as Tensor).gate.exit()
    }
    if (undo.length !== undone) s.settle(undone)
    s.top = base
    if (s.text !== text) s.text = text
    if (base === 0 && s.head[PENDING] !== 0) catchUp(s)
  }
}

/** Calls with values that a signature checks: as many as it has parameters, at most three. */
export function callTypedFew(
  target: Callee,
  signature: Signature,
  count: number,
  a: unknown,
  b: unknown,
  c: unknown,
): Value {
  const s = stack
  if (target.handle === 0) target.owner.checkAlive()
  const { parameters } = signature
  const { top: base, text, undo } = s
  const undone = undo.length
  const top = base + count + 1
  if (top > SLOT_COUNT) throw s.full(count)
  s.top = top
  let tensors = 0
  try {
    if (count > 0) tensors = putTyped(s, base + 1, 0, parameters[0]!, a, signature)
    if (count > 1) tensors |= putTyped(s, base + 2, 1, parameters[1]!, b, signature)
    if (count > 2) tensors |= putTyped(s, base + 3, 2, parameters[2]!, c, signature)
    s.i32[base * 4 + 2] = target.lo
    s.i32[base * 4 + 3] = target.hi
    s.head[CALL] = base | (count << CALL_SHIFT) | CALL_MEANT
    if (tensors !== 0) s.head[TENSORS] = tensors
    const typeIndex = s.perform(base)
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    return readResult(s, base, typeIndex)
  } finally {
    if (tensors !== 0) {
      if (s.head[TENSORS] !== 0) handOver(s, base)
      if ((tensors & 1) !== 0) (a as Tensor).gate.exit()
      if ((tensors & 2) !== 0) (b as Tensor).gate.exit()
      if ((tensors & 4) !== 0) (c as Tensor).gate.exit()
    }
    if (undo.length !== undone) s.settle(undone)
    s.top = base
    if (s.text !== text) s.text = text
    if (base === 0 && s.head[PENDING] !== 0) catchUp(s)
  }
}

/** `read` gets the result before its slot is used again. */
export function callAll<Result>(
  target: Callee,
  values: readonly unknown[],
  read: (s: Stack, base: number, typeIndex: number) => Result,
): Result {
  const s = stack
  if (target.handle === 0) target.owner.checkAlive()
  const { top: base, text, undo } = s
  const undone = undo.length
  let tensors = 0
  s.enter(values.length)
  try {
    for (let i = 0; i < values.length; i++) {
      const bit = put(s, base + 1 + i, i, values[i])
      if (bit !== 0) undo.push((values[i] as Tensor).gate)
      tensors |= bit
    }
    s.i32[base * 4 + 2] = target.lo
    s.i32[base * 4 + 3] = target.hi
    s.head[CALL] = base | (values.length << CALL_SHIFT) | CALL_MEANT
    if (tensors !== 0) s.head[TENSORS] = tensors
    const typeIndex = s.perform(base)
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    return read(s, base, typeIndex)
  } finally {
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    s.settle(undone)
    s.top = base
    s.text = text
    if (s.head[PENDING] !== 0 && base === 0) catchUp(s)
  }
}

export function readResult(s: Stack, base: number, typeIndex: number): Value {
  const low = s.i32[base * 4 + 2]!
  if (typeIndex === TypeIndex.Int && s.i32[base * 4 + 3] === low >> 31) return low
  if (typeIndex === TypeIndex.Float) return s.f64[base * 2 + 1]!
  if (typeIndex === -1) throw takeError(s, base)
  return unpack(s, base, typeIndex)
}
