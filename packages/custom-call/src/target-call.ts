import type { KernelSignature, Tensor } from '@tenon/core'
import {
  checkOptions,
  readSignature,
  wrongType,
  type AttributesInput,
  type OperandsFor,
  type OperandsOf,
  type ParameterTypes,
  type ResultsOf,
  type ReturnFor,
  type TensorsFor,
  type OperandFor,
} from '@tenon/core/internal'
import type { Attribute } from './attributes/attribute.ts'
import { DEFAULT_FRAMES } from './call/frames.ts'
import { handlerCallee, kernelCallee, type KernelHandler } from './call/handler-callee.ts'
import type { KernelAsyncOptions, KernelCallOptions, KernelPrepareOptions } from './call/kernel-options.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import { checkFrames, kernelOf, type Kernel, type OperandTypes } from './kernel.ts'
import { TypedHandler } from './targets/typed-handler.ts'
import { UntypedFunction } from './targets/untyped-function.ts'

/** The options of {@link targetCall}. */
export interface TargetCallOptions {
  /** The number of prepared frames that the kernel keeps for later calls with the same types and attributes: 1 to 64, by default 8. */
  readonly frames?: number
}

/** Arguments in order: operands that may be omitted at the end, and then the attributes and options. */
export type ArgumentsFor<
  Parameters extends ParameterTypes,
  Last extends readonly unknown[],
> = Parameters extends readonly [infer First extends ParameterTypes[number], ...infer Rest extends ParameterTypes]
  ? First[1] extends 'remaining'
    ? readonly [readonly OperandFor<First>[], ...Last] | Last
    : First[1] extends 'optional'
      ? readonly [OperandFor<First>, ...ArgumentsFor<Rest, Last>] | readonly [undefined, ...Last] | Last
      : readonly [OperandFor<First>, ...ArgumentsFor<Rest, Last>]
  : Last

/** The attributes, which may be omitted if none is required, and then the options. */
export type LastArguments<Attributes, Options> = keyof Attributes extends never
  ? readonly [options?: Options]
  : Record<never, never> extends Attributes
    ? readonly [attributes?: Attributes, options?: Options]
    : readonly [attributes: Attributes, options?: Options]

/** A kernel as a function, with the types of the text of its signature. */
export interface TargetCall<Text extends string> extends Pick<Kernel, 'signature' | 'handler'> {
  /** Calls the kernel. See {@link Kernel}. @throws {ArgumentError} if the call contradicts the signature. @throws {XlaError} */
  (
    ...args: ArgumentsFor<OperandsOf<Text>, LastArguments<AttributesInput<Text, Attribute>, KernelCallOptions>>
  ): ReturnFor<ResultsOf<Text>>
  /** Calls the kernel on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async(
    ...args: ArgumentsFor<OperandsOf<Text>, LastArguments<AttributesInput<Text, Attribute>, KernelAsyncOptions>>
  ): Promise<ReturnFor<ResultsOf<Text>>>
  /** Prepares a call for types, or tensors as examples. @throws {ArgumentError} if the call contradicts the signature. */
  prepare(
    operands: OperandTypes,
    ...rest: LastArguments<AttributesInput<Text, Attribute>, KernelPrepareOptions>
  ): PreparedCall<OperandsFor<OperandsOf<Text>>, TensorsFor<ResultsOf<Text>>>
}

/**
 * Returns a function that calls a handler as its signature says. It checks the operands and attributes, allocates the results and
 * temporaries, and keeps prepared frames for calls with the same types and attributes. TypeScript knows the types of the operands,
 * results and attributes if it knows the text.
 *
 * @param signature the text of a signature, or a signature that `parseSignature()` has read.
 * @param handler a handler from a library or a registry, the handler of a TypeScript function, or an untyped function.
 * @throws {SignatureError} if the text is invalid.
 * @throws {ArgumentError} if an argument has another class, or the handler does not pass the attributes of the signature.
 * @example
 * const rmsNorm = targetCall('(x: f32[n, d]) -> (y: f32[n, d]); eps: f32 = 1e-5', typedHandler(library, 'rms_norm'))
 * const normal = rmsNorm(x, { eps: 1e-6 })
 */
export function targetCall<const Text extends string>(
  signature: string extends Text ? never : Text,
  handler: KernelHandler,
  options?: TargetCallOptions,
): TargetCall<Text>
/** Returns a function that calls a handler as its signature says. @throws {ArgumentError} as the other form */
export function targetCall<Result = Tensor>(
  signature: KernelSignature | string,
  handler: KernelHandler,
  options?: TargetCallOptions,
): Kernel<Result>
export function targetCall(text: unknown, handler: unknown, options?: TargetCallOptions): unknown {
  const hint = "Write targetCall('(x: f32[n]) -> (y: f32[n])', typedHandler(library, 'f'))."
  if (!(handler instanceof TypedHandler || handler instanceof UntypedFunction)) {
    throw wrongType('handler', 'a typed handler or an untyped function', handler, hint)
  }
  const signature = readSignature(handler.name, text, hint)
  const { frames = DEFAULT_FRAMES } = checkOptions(options, ['frames'])
  const limit = checkFrames(frames)
  const isKnown = signature.source !== 'none'
  return kernelOf(signature, handler, isKnown ? kernelCallee(signature, handler, limit) : handlerCallee(handler, limit))
}
