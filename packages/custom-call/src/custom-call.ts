import type { NativeLibrary } from '@tenon/core'
import {
  callFunction,
  type CallOptions,
  type CallResults,
  type HostCallOptions,
  type ResultSpec,
} from './call/call-function.ts'
import type { Tensors } from './call/call-target.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import { str, type Attribute } from './attributes/attribute.ts'
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
   * Calls it: the frame is laid out for the tensors' types and attributes, and kept for the next call if that is alike.
   *
   * @throws {XlaError} if the kernel fails. @throws {ArgumentError} if something can't be passed.
   */
  <const Results extends readonly ResultSpec[]>(operands: Tensors, options: CallOptions<Results>): CallResults<Results>
  /** What is called: its version, and calls prepared by hand for hot loops and for kernels with state. */
  readonly handler: TypedHandler
  /** As `handler.prepare`. */
  prepare(options: TypedPrepareOptions): PreparedCall
}

/** An untyped Host call as a function. */
export interface HostCall {
  /** Calls it. @throws {ArgumentError} if something can't be passed. @throws {XlaError} if it fails or throws. */
  <const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    options: HostCallOptions<Results>,
  ): CallResults<Results>
  /** What is called. */
  readonly function: UntypedFunction
  /** As `function.prepare`. */
  prepare(options: UntypedPrepareOptions): PreparedCall
}

/**
 * A typed handler of a library as a function of TypeScript.
 *
 * @throws as `typedHandler`.
 * @example
 * const rmsNorm = customCall(library, 'rms_norm')
 * const y = rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } })
 */
export function customCall(
  library: NativeLibrary,
  symbols: string | HandlerSymbols,
  options: HandlerOptions = {},
): CustomCall {
  const handler = typedHandler(library, symbols, options)
  const prepare = (prepareOptions: TypedPrepareOptions): PreparedCall => handler.prepare(prepareOptions)
  const call = callFunction(prepare, !handler.stages.includes('instantiate'))
  return Object.assign(call, { handler, prepare })
}

/**
 * An untyped Host function of a library as a function of TypeScript; `void f(void* out, const void** in)` unless
 * `apiVersion` says otherwise.
 *
 * @throws as `hostFunction`.
 * @example
 * const add = hostCall(library, 'do_custom_call')
 * const a = add([b, c], { results: [f32([2048])] })
 */
export function hostCall(library: NativeLibrary, symbol: string, options: HostFunctionOptions = {}): HostCall {
  const target = hostFunction(library, symbol, options)
  const prepare = (prepareOptions: UntypedPrepareOptions): PreparedCall => target.prepare(prepareOptions)
  const call = callFunction(({ attrs, ...shape }) => {
    const { opaque } = attrs as { readonly opaque?: Attribute }
    return target.prepare(opaque === undefined ? shape : { ...shape, opaque: opaque.bytes })
  }, true)
  // What attributes are to a typed call, the opaque string is to an untyped one.
  const callHost = <const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    { opaque, ...rest }: HostCallOptions<Results>,
  ): CallResults<Results> => call(operands, opaque === undefined ? rest : { ...rest, attrs: { opaque: str(opaque) } })
  return Object.assign(callHost, { function: target, prepare })
}
