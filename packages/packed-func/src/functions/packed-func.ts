import type { Tensor } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { takeError, takeErrorText } from '../errors/crossing.ts'
import { CALL, CALL_MEANT, CALL_SHIFT, openStack, PENDING, SLOT_COUNT, TENSORS, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { catchUp, NativeObject, registerClass } from '../objects/native-object.ts'
import { handOver } from '../tensors/pack-tensor.ts'
import { MISMATCH, type AnyDescriptor, type Signature } from '../typed/descriptor.ts'
import { typeName } from '../values/native-type.ts'
import { bindTypes, type TypedFunction } from '../typed/typed-function.ts'
import type { Argument, Value } from '../values/argument.ts'
import { put, putTyped } from '../values/put.ts'
import { unpack } from '../values/unpack.ts'
import { callOnThread } from './async-call.ts'

/** The outcome of {@link PackedFunc.tryCall}. */
export type CallResult =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly kind: string; readonly sentence: string }

let stack: Stack

/**
 * A packed function. It takes values of any type, and may be written in any language.
 *
 * @example
 * const add = packedFunc((a: number, b: number) => a + b)
 * add.call(1, 2) // 3
 */
export class PackedFunc extends NativeObject {
  static {
    registerClass(this, TypeIndex.Function)
  }

  /** @internal takes over a reference */
  constructor(typeIndex: number, handle: number) {
    super(typeIndex, handle)
    stack ??= openStack()
  }

  /**
   * Calls the function.
   *
   * @returns the result. An object belongs to the caller.
   * @throws {PackedFuncError} the error that the function raised. An error of JavaScript that passed through native code is
   * thrown as the same object.
   * @throws {ScopeClosedError} if the function is closed, or the memory of a tensor is closed or closing.
   */
  call(...values: Argument[]): Value
  // Named parameters, and int32 values written inline: a rest parameter and a loop take a third longer.
  call(a?: Argument, b?: Argument, c?: Argument): Value {
    const count = arguments.length
    if (count > 3) return callAll(this, Array.from(arguments), finish)
    const s = stack
    if (this.handle === 0) this.checkAlive()
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
      i32[at + 2] = this.lo
      i32[at + 3] = this.hi
      s.head[CALL] = base | (count << CALL_SHIFT) | CALL_MEANT
      if (tensors !== 0) s.head[TENSORS] = tensors
      const typeIndex = s.host.tn_packed_call()
      if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
      return finish(s, base, typeIndex)
    } finally {
      if (tensors !== 0) {
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

  /** @internal {@link call} with values that a signature checks: as many as it has parameters, at most three */
  callTypedFew(signature: Signature, count: number, a: unknown, b: unknown, c: unknown): Value {
    const s = stack
    if (this.handle === 0) this.checkAlive()
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
      s.i32[base * 4 + 2] = this.lo
      s.i32[base * 4 + 3] = this.hi
      s.head[CALL] = base | (count << CALL_SHIFT) | CALL_MEANT
      if (tensors !== 0) s.head[TENSORS] = tensors
      const typeIndex = s.host.tn_packed_call()
      if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
      return finish(s, base, typeIndex)
    } finally {
      if (tensors !== 0) {
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

  /** @internal {@link call} with values that a signature checks. Omitted parameters are None. */
  callTyped(signature: Signature, values: readonly unknown[]): Value {
    const { parameters } = signature
    const converted = parameters.map((type, i) => {
      const native = type.toNative(i < values.length ? values[i] : null)
      if (native === MISMATCH) throw signature.mismatch(i, typeName(values[i]))
      return native
    })
    return callAll(this, converted, finish)
  }

  /**
   * Calls the function and returns the error that it raises instead of throwing it, so that a failure costs no stack trace.
   *
   * @throws {ArgumentError} if a value cannot be passed. @throws {ScopeClosedError} as {@link call}
   * @example
   * const result = lookup.tryCall('key')
   * if (!result.ok && result.kind === 'KeyError') console.log('not there')
   */
  tryCall(...values: Argument[]): CallResult {
    return callAll(this, values, (s, base, typeIndex) =>
      typeIndex === -1 ? { ok: false, ...takeErrorText(s, base) } : { ok: true, value: unpack(s, base, typeIndex) },
    )
  }

  /**
   * Calls the function on another thread. Arguments are copied, or held until the call ends; do not write to tensors meanwhile. A
   * function of TypeScript fails there with kind `ThreadError`, unless it was made with `relay` or `async`.
   *
   * It takes some 50 us more than {@link call}, so use it for calls that take longer.
   *
   * @example
   * const total = await lib.get('sum').async(1, 2)
   */
  async(...values: Argument[]): Promise<Value> {
    return callOnThread(this, values, undefined)
  }

  /**
   * As {@link async}, with a signal: kernels that check for it (`TVMFFIEnvCheckSignals`) stop early.
   *
   * @throws the signal's reason, if it was aborted before the call; otherwise the error that the kernel raises when it stops.
   */
  async asyncWith(options: { readonly signal?: AbortSignal }, ...values: Argument[]): Promise<Value> {
    return callOnThread(this, values, checkOptions(options, ['signal']).signal)
  }

  /**
   * Binds the function to the types of its parameters and its result. TypeScript checks them at compile time. Each call checks
   * and converts the values before native code sees them.
   *
   * @param name the name of the returned function, which messages quote.
   * @throws {ArgumentError} if a type is not a type such as `t.int`. The returned function throws a {@link PackedFuncTypeError} if
   * an argument or the result has another type.
   * @example
   * const add = lib.get('sum').typed([t.int, t.int], t.int)
   * add(1, 2) // 3
   */
  typed<const P extends readonly AnyDescriptor[], R extends AnyDescriptor>(
    parameters: P,
    result: R,
    name = '',
  ): TypedFunction<P, R> {
    return bindTypes(this, parameters, result, name)
  }

  /** Returns a plain JavaScript function that calls this one. */
  asFunction(): (...values: Argument[]) => Value {
    const packedFunction = (...values: Argument[]): Value => this.call(...values)
    return packedFunction
  }
}

/** `read` gets the result before its slot is used again. */
function callAll<Result>(
  target: PackedFunc,
  values: readonly unknown[],
  read: (s: Stack, base: number, typeIndex: number) => Result,
): Result {
  const s = stack
  target.checkAlive()
  const { top: base, text, undo } = s
  const undone = undo.length
  s.enter(values.length)
  try {
    let tensors = 0
    for (let i = 0; i < values.length; i++) {
      const bit = put(s, base + 1 + i, i, values[i])
      if (bit !== 0) undo.push((values[i] as Tensor).gate)
      tensors |= bit
    }
    s.i32[base * 4 + 2] = target.lo
    s.i32[base * 4 + 3] = target.hi
    s.head[CALL] = base | (values.length << CALL_SHIFT) | CALL_MEANT
    if (tensors !== 0) s.head[TENSORS] = tensors
    const typeIndex = s.host.tn_packed_call()
    if (tensors !== 0 && s.head[TENSORS] !== 0) handOver(s, base)
    return read(s, base, typeIndex)
  } finally {
    s.settle(undone)
    s.top = base
    s.text = text
    if (s.head[PENDING] !== 0 && base === 0) catchUp(s)
  }
}

function finish(s: Stack, base: number, typeIndex: number): Value {
  const low = s.i32[base * 4 + 2]!
  if (typeIndex === TypeIndex.Int && s.i32[base * 4 + 3] === low >> 31) return low
  if (typeIndex === TypeIndex.Float) return s.f64[base * 2 + 1]!
  if (typeIndex === -1) throw takeError(s, base)
  return unpack(s, base, typeIndex)
}
