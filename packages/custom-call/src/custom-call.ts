import type { NativeLibrary } from '@tenon/core'
import type { RunAsyncOptions } from './async/run-later.ts'
import {
  callable,
  callFunction,
  type CallOptions,
  type CallResults,
  type HostCallOptions,
  type ResultSpec,
} from './call/call-function.ts'
import type { Tensors } from './call/call-target.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import {
  hostFunction,
  type HostFunctionOptions,
  type UntypedFunction,
  type UntypedPrepareOptions,
} from './targets/untyped-function.ts'
import {
  typedHandler,
  type HandlerOptions,
  type HandlerSymbols,
  type TypedHandler,
  type TypedPrepareOptions,
} from './targets/typed-handler.ts'

/** A typed custom call as a function. */
export interface CustomCall {
  /**
   * Calls the kernel. The frame is laid out for the tensors' types and the attributes, and kept for the next call that has
   * the same.
   *
   * @throws {XlaError} if the kernel fails. @throws {ArgumentError} if an argument cannot be passed.
   */
  <const Results extends readonly ResultSpec[]>(operands: Tensors, options: CallOptions<Results>): CallResults<Results>
  /** Calls the kernel on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async<const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    options: CallOptions<Results> & RunAsyncOptions,
  ): Promise<CallResults<Results>>
  /** The handler, with its version. */
  readonly handler: TypedHandler
  /** Prepares a call, for hot loops and kernels with state: as `handler.prepare`. */
  prepare(options: TypedPrepareOptions): PreparedCall
}

/** An untyped Host call as a function. */
export interface HostCall {
  /** Calls the function. @throws {ArgumentError} if an argument cannot be passed. @throws {XlaError} if it fails or throws. */
  <const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    options: HostCallOptions<Results>,
  ): CallResults<Results>
  /** Calls the function on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async<const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    options: HostCallOptions<Results> & RunAsyncOptions,
  ): Promise<CallResults<Results>>
  readonly function: UntypedFunction
  /** Prepares a call: as `function.prepare`. */
  prepare(options: UntypedPrepareOptions): PreparedCall
}

/**
 * Makes a typed handler of a library a TypeScript function.
 *
 * @throws as `typedHandler`.
 * @example
 * const rmsNorm = customCall(library, 'rms_norm')
 * const y = rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 */
export function customCall(
  library: NativeLibrary,
  symbols: string | HandlerSymbols,
  options?: HandlerOptions,
): CustomCall {
  const handler = typedHandler(library, symbols, options)
  const prepare = (prepareOptions: TypedPrepareOptions): PreparedCall => handler.prepare(prepareOptions)
  const { call, async } = callFunction('attrs', prepare, !handler.stages.includes('instantiate'))
  return callable(call, handler.name, { async, handler, prepare }) as unknown as CustomCall
}

/**
 * Makes an untyped Host function of a library a TypeScript function. Its signature is `void f(void* out, const void** in)`
 * unless `apiVersion` says otherwise.
 *
 * @throws as `hostFunction`.
 * @example
 * const add = hostCall(library, 'do_custom_call')
 * const a = add([b, c], { results: [f32([2048])] })
 */
export function hostCall(library: NativeLibrary, symbol: string, options?: HostFunctionOptions): HostCall {
  const target = hostFunction(library, symbol, options)
  const prepare = (prepareOptions: UntypedPrepareOptions): PreparedCall => target.prepare(prepareOptions)
  const { call, async } = callFunction('opaque', prepare, true)
  return callable(call, target.name, { async, function: target, prepare }) as unknown as HostCall
}
