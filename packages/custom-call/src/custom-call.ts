import { ArgumentError, tensor, Tensor, TensorType, type NativeAllocator, type NativeLibrary } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import type { AttributeDictionary } from './attributes/encode-attributes.ts'
import type { Tensors } from './call/call-target.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import type { PrepareOptions } from './call/prepare-options.ts'
import { hostFunction, type HostFunction } from './targets/host-function.ts'
import {
  typedHandler,
  type HandlerOptions,
  type HandlerSymbols,
  type TypedHandler,
  type TypedPrepareOptions,
} from './targets/typed-handler.ts'

/** A result of a call: a tensor to write into, or a type, for which memory is allocated. */
export type ResultSpec = Tensor | TensorType

/** What a call returns: its only result, or all of them in order. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** What is said at each call, besides its operands. */
export interface HostCallOptions<Results extends readonly ResultSpec[]> {
  readonly results: Results
  /** Where the memory of results comes from that are given as types; the default is freed by the garbage collector. */
  readonly allocator?: NativeAllocator
  /** What the addresses of all tensors must be a multiple of, in bytes; that of their elements without it. */
  readonly alignment?: number
}

/** What is said at each typed call, besides its operands. */
export interface CallOptions<Results extends readonly ResultSpec[]> extends HostCallOptions<Results> {
  readonly attrs?: AttributeDictionary
}

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
  prepare(options: TypedPrepareOptions): PreparedCall
}

/** An untyped Host call as a function. */
export interface HostCall {
  <const Results extends readonly ResultSpec[]>(operands: Tensors, options: HostCallOptions<Results>): CallResults<Results>
  readonly function: HostFunction
  prepare(options: PrepareOptions): PreparedCall
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
  // A state belongs to one call site: calls with an instantiate handler are not kept for the next.
  const keeps = !handler.stages.includes('instantiate')
  let kept: { readonly descriptor: Uint8Array; readonly call: PreparedCall } | undefined
  const call = <const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    callOptions: CallOptions<Results>,
  ): CallResults<Results> => {
    const { results, shape } = arrange(operands, callOptions)
    const prepareOptions = { ...shape, ...(callOptions.attrs === undefined ? {} : { attrs: callOptions.attrs }) }
    const descriptor = handler.encode(prepareOptions)
    if (kept !== undefined && shape.alignment === undefined && Buffer.compare(kept.descriptor, descriptor) === 0) {
      const reused = kept.call
      kept = undefined // a call of a callback inside this one must not find it running
      try {
        reused.run(operands, results)
      } finally {
        kept = { descriptor, call: reused }
      }
      return unwrap(results)
    }
    const prepared = handler.prepareEncoded(shape, descriptor)
    if (keeps && shape.alignment === undefined) {
      prepared.run(operands, results)
      kept = { descriptor, call: prepared }
    } else {
      runOnce(prepared, operands, results)
    }
    return unwrap(results)
  }
  return Object.assign(call, { handler, prepare: (o: TypedPrepareOptions): PreparedCall => handler.prepare(o) })
}

/**
 * A function `void f(void* out, const void** in)` of a library as a function of TypeScript.
 *
 * @throws as `hostFunction`.
 * @example
 * const add = hostCall(library, 'do_custom_call')
 * const a = add([b, c], { results: [f32([2048])] })
 */
export function hostCall(library: NativeLibrary, symbol: string): HostCall {
  const target = hostFunction(library, symbol)
  const call = <const Results extends readonly ResultSpec[]>(
    operands: Tensors,
    options: HostCallOptions<Results>,
  ): CallResults<Results> => {
    const { results, shape } = arrange(operands, options)
    runOnce(target.prepare(shape), operands, results)
    return unwrap(results)
  }
  return Object.assign(call, { function: target, prepare: (o: PrepareOptions): PreparedCall => target.prepare(o) })
}

/** The tensors of a call, results allocated, and what it is prepared for. */
function arrange(
  operands: Tensors,
  options: HostCallOptions<readonly ResultSpec[]>,
): { readonly results: Tensors; readonly shape: PrepareOptions } {
  if (!Array.isArray(operands) || !operands.every((operand) => operand instanceof Tensor)) {
    throw new ArgumentError(`operands must be an array of tensors, got ${describe(operands)}`, {
      hint: "make tensors with tensor('f32', [2, 4], values).",
    })
  }
  if (!Array.isArray(options?.results)) {
    throw new ArgumentError(`results must be an array of tensors or types, got ${describe(options?.results)}`, {
      hint: 'a kernel does not tell what it returns: write results: [f32([2, 4])].',
    })
  }
  const specs: readonly ResultSpec[] = options.results
  const results = specs.map((spec, i) => {
    if (spec instanceof Tensor) return spec
    if (!(spec instanceof TensorType)) throw new ArgumentError(`result ${i} must be a tensor or a type, got ${describe(spec)}`)
    const { dtype, shape, packing } = spec
    return tensor(dtype, shape, undefined, { packing, ...(options.allocator === undefined ? {} : { allocator: options.allocator }) })
  })
  const alignment = options.alignment === undefined ? {} : { alignment: options.alignment }
  return { results, shape: { operands: operands as Tensors, results, ...alignment } }
}

function runOnce(call: PreparedCall, operands: Tensors, results: Tensors): void {
  try {
    call.run(operands, results)
  } finally {
    call.close()
  }
}

function unwrap<Results extends readonly ResultSpec[]>(results: Tensors): CallResults<Results> {
  return (results.length === 1 ? results[0] : results) as CallResults<Results>
}
