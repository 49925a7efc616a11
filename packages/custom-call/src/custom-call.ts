import type { NativeLibrary, TensorLike } from '@tenon/core'
import { callable, callFunction } from './call/call-function.ts'
import { DEFAULT_FRAMES } from './call/frames.ts'
import { handlerCallee } from './call/handler-callee.ts'
import {
  listedArguments,
  type CallResults,
  type HostCallOptions,
  type ResultOptions,
  type ResultSpec,
} from './call/listed-arguments.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import type { RunAsyncOptions } from './call/run-later.ts'
import { type OperandTuple, type ResultTuple, tupleArguments, type TupleResults } from './call/tuple-arguments.ts'
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

interface Call<Extra, Options> {
  /**
   * Calls the kernel with tensors, also of another library. The call frame is laid out for the tensors' types and the attributes, and reused if the next call has
   * the same types and attributes.
   *
   * @throws {XlaError} if the kernel fails. @throws {ArgumentError} if an argument cannot be passed.
   */
  <const Results extends readonly ResultSpec[]>(
    operands: readonly TensorLike[],
    options: ResultOptions<Results> & Extra,
  ): CallResults<Results>
  /** Calls the kernel on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async<const Results extends readonly ResultSpec[]>(
    operands: readonly TensorLike[],
    options: ResultOptions<Results> & Extra & RunAsyncOptions,
  ): Promise<CallResults<Results>>
  /** Prepares a call, for hot loops and kernels with state. See `prepare` of the handler or function. */
  prepare(options: Options): PreparedCall
}

/** A typed custom call as a function. */
export interface CustomCall extends Call<Pick<TypedPrepareOptions, 'attrs'>, TypedPrepareOptions> {
  /** The handler, with its version. */
  readonly handler: TypedHandler
}

/** The options of a call whose results can be tuples. */
export type TupleOptions<Results extends ResultTuple> = Omit<HostCallOptions<never>, 'results'> & {
  readonly results: Results
}

/** An untyped Host call as a function. Tuples among its operands and results are nested arrays, as the function gets them. */
export interface HostCall {
  /**
   * Calls the function. The call frame is laid out for the tensors' types and the opaque string, and reused if the next call has
   * the same types, tuples and opaque string.
   *
   * @throws {XlaError} if the function fails. @throws {ArgumentError} if an argument cannot be passed.
   */
  <const Results extends ResultTuple>(operands: OperandTuple, options: TupleOptions<Results>): TupleResults<Results>
  /** Calls the function on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async<const Results extends ResultTuple>(
    operands: OperandTuple,
    options: TupleOptions<Results> & RunAsyncOptions,
  ): Promise<TupleResults<Results>>
  /** Prepares a call, for hot loops. See `prepare` of the function. */
  prepare(options: UntypedPrepareOptions): PreparedCall
  readonly function: UntypedFunction
}

/**
 * Returns a TypeScript function that calls a typed handler in a library.
 *
 * @throws the errors of `typedHandler`.
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
  const callee = handlerCallee(handler, DEFAULT_FRAMES)
  const { call, async } = callFunction(handler.name, listedArguments('attrs', callee), callee)
  return callable(call, handler.name, { async, handler, prepare }) as unknown as CustomCall
}

/**
 * Returns a TypeScript function that calls an untyped Host function in a library. The signature of the Host function is
 * `void f(void* out, const void** in)`, unless `apiVersion` selects another convention.
 *
 * @throws the errors of `hostFunction`.
 * @example
 * const add = hostCall(library, 'do_custom_call')
 * const a = add([b, c], { results: [f32([2048])] })
 * using sums = NativeLibrary.open('./libkernels_runtime.so')
 * const [v, w, x, y] = [32, 64, 128, 256].map((size) => tensor('f32', [size]))
 * const [totals, firsts] = hostCall(sums, 'nested_sums')([[v, [w, x], y]], { results: [f32([512]), f32([1024])] })
 */
export function hostCall(library: NativeLibrary, symbol: string, options?: HostFunctionOptions): HostCall {
  const target = hostFunction(library, symbol, options)
  const prepare = (prepareOptions: UntypedPrepareOptions): PreparedCall => target.prepare(prepareOptions)
  const callee = handlerCallee(target, DEFAULT_FRAMES)
  const form = tupleArguments((prepareShape) => listedArguments('opaque', { prepare: prepareShape }), callee.prepare)
  const { call, async } = callFunction(target.name, form, callee)
  return callable(call, target.name, { async, function: target, prepare }) as unknown as HostCall
}
