import { ArgumentError } from '@tenon/core'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { bindClass, NativeObject, wrapperClass } from '../objects/native-object.ts'
import type { AnyDescriptor } from '../typed/descriptor.ts'
import { typedForm, type TypedFunction } from '../typed/typed-function.ts'
import type { Argument, Value } from '../values/argument.ts'
import { callOnThread } from './async-call.ts'
import { AsyncForm, type AsyncOptions } from './async-form.ts'
import { Callee, calleeOf, openCallee } from './call.ts'
import { tryCall, type CallResult } from './try-call.ts'

// A class cannot declare that its instances can be called.
/* oxlint-disable typescript/no-unsafe-declaration-merging */

/** What a packed function has as a JavaScript function. */
export interface PackedFunc {
  /**
   * Calls the function.
   *
   * @returns the result. An object belongs to the caller.
   * @throws {PackedFuncError} the error that the function raised. An error of JavaScript that passed through native code is
   * thrown as the same object.
   * @throws {ScopeClosedError} if the function is closed, or the memory of a tensor is closed or closing.
   */
  (...values: Argument[]): Value

  /** The name by which the function was looked up, or the name of the TypeScript function. It is empty for other results. */
  readonly name: string

  /** 0, because a packed function takes any number of values. */
  readonly length: number
}

/**
 * A packed function. It takes values of any type, and may be written in any language. It is a JavaScript function and a
 * {@link NativeObject}, so it can be closed.
 *
 * | made by                      | is called on            | lives until                                           |
 * | ---------------------------- | ----------------------- | ----------------------------------------------------- |
 * | `packedFunc(f)`              | the thread that made it | it is closed or collected, and native code forgets it |
 * | `packedFunc(f, { relay })`   | any thread, which waits | the same                                              |
 * | `module.get(name)`           | any thread              | the same                                              |
 * | `getGlobal(name)`            | any thread              | the same                                              |
 * | a result of another function | any thread              | the same; it belongs to the caller                    |
 *
 * Arguments are borrowed for the call, and objects in results are references of the caller's own.
 *
 * @example
 * const add = packedFunc((a: number, b: number) => a + b)
 * add(1, 2) // 3
 * await getGlobal('ffi.String').async('hello') // 'hello'
 */
export class PackedFunc extends NativeObject {
  static {
    bindClass(this, TypeIndex.Function)
    Object.defineProperty(this.prototype, 'apply', { value: Function.prototype.apply })
    // Otherwise `util.promisify` would append a callback to the values, and copy the fields that own the reference.
    Object.defineProperty(this.prototype, Symbol.for('nodejs.util.promisify.custom'), { get: asyncOf })
  }

  static override readonly typeKey: string = 'ffi.Function'

  /** @internal takes over a reference. @param typed as {@link Callee} takes it. */
  constructor(typeIndex: number, handle: number, name = '', typed?: (callee: Callee) => object) {
    const callee = new Callee(typeIndex, handle, name, typed)
    // The prototype of PackedFunc, or of the class that the program registered for functions.
    const prototype = wrapperClass(TypeIndex.Function, handle).prototype as object
    super(typeIndex, handle, Object.setPrototypeOf(callee.owner, prototype) as object, callee)
  }

  /** @internal */
  rename(name: string): this {
    return Object.defineProperty(this, 'name', { value: name })
  }

  /** The type and the name in brackets: `[ffi.Function sum]`. */
  override toString(): string {
    const text = super.toString()
    return this.name === '' ? text : text.replace('ffi.Function', `$& ${this.name}`)
  }

  /**
   * Calls the function on another thread. Arguments are copied, or held until the call ends; do not write to tensors meanwhile. A
   * function of TypeScript fails there with kind `ThreadError`, unless it was made with `relay` or `async`.
   *
   * It takes some 50 us more than a synchronous call, so use it for calls that take longer.
   *
   * @example
   * const total = await lib.get('sum').async(1, 2)
   */
  async(...values: Argument[]): Promise<Value> {
    return callOnThread(this, values, undefined)
  }

  /**
   * Returns the asynchronous form of the function with options, for as many calls as wanted. The options are not an argument of
   * {@link async}, because a packed function takes any number of values.
   *
   * @throws {ArgumentError} if an option is not valid.
   * @example
   * const total = await lib.get('sum').with({ signal: AbortSignal.timeout(1000) }).async(1, 2)
   */
  with(options: AsyncOptions): AsyncForm<Argument[], Value> {
    return new AsyncForm(String(this), options, (values, signal) => callOnThread(this, values, signal))
  }

  /**
   * Calls the function and returns the error that it raises instead of throwing it, so that a failure costs no stack trace.
   *
   * @throws {ArgumentError} if a value cannot be passed. @throws {ScopeClosedError} as a call does.
   * @example
   * const result = lookup.tryCall('key')
   * if (!result.ok && result.kind === 'KeyError') console.log('not there')
   */
  tryCall(...values: Argument[]): CallResult {
    return tryCall(calleeOf(this), values)
  }

  /**
   * Returns this function with the types of its parameters and its result. TypeScript checks them at compile time. Each call checks
   * and converts the values before native code sees them. The returned function is a packed function with a reference of its own:
   * closing one of the two does not close the other.
   *
   * @param name the name of the returned function, which messages quote.
   * @throws {ArgumentError} if a type is not a type such as `t.int`. The returned function throws a {@link PackedFuncTypeError} if
   * an argument or the result has another type. @throws {ScopeClosedError} if the function is closed.
   * @example
   * const add = lib.get('sum').typed([t.int, t.int], t.int)
   * add(1, 2) // 3
   */
  typed<const P extends readonly AnyDescriptor[], R extends AnyDescriptor>(
    parameters: P,
    result: R,
    name = '',
  ): TypedFunction<P, R> {
    const { typeIndex, handle } = openCallee(this)
    const typed = typedForm(parameters, result, name, this.name)
    openStack().host.tn_packed_retain(handle)
    return new PackedFunc(typeIndex, handle, name, typed) as unknown as TypedFunction<P, R>
  }

  /**
   * Always throws. A packed function has no `this`, so `Function.prototype.call` would drop the first value of `f.call(1, 2)`
   * without an error.
   *
   * @deprecated Call the function itself: `f(1, 2)`.
   * @throws {ArgumentError}
   */
  call(removed: never): never
  call(): never {
    const name = this.name || 'the packed function'
    throw new ArgumentError(`${name} must be called as a function, got a call of its method call()`, {
      hint: 'Write f(a, b) instead of f.call(a, b). For an array of values, write f(...values).',
      details: { name, expected: 'a call of the function itself', received: 'a call of its method call()' },
    })
  }

  /**
   * Returns a plain function that calls this one with some values before its own, as `Function.prototype.bind` does. It keeps
   * this function alive, but is not a packed function.
   */
  bind(self: unknown, ...values: Argument[]): (...rest: Argument[]) => Value {
    const bound = Function.prototype.bind.call(this as (...rest: Argument[]) => Value, self, ...values)
    return Object.setPrototypeOf(bound, Function.prototype) as (...rest: Argument[]) => Value
  }
}

function asyncOf(this: PackedFunc): (...values: Argument[]) => Promise<Value> {
  const later = (...values: Argument[]): Promise<Value> => this.async(...values)
  return later
}
