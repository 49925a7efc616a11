import type { KernelSignature, Tensor, TensorType } from '@tenon/core'
import {
  checkOptions,
  readSignature,
  wrongType,
  wrongValue,
  type AttributesInput,
  type OperandsOf,
  type ParameterTypes,
  type ResultsOf,
  type ReturnFor,
  type TensorsFor,
} from '@tenon/core/internal'
import type { Attribute } from './attributes/attribute.ts'
import { callable } from './call/call-function.ts'
import { preparedCalls } from './call/prepared-calls.ts'
import { kernelFunction, type KernelForms } from './call/kernel-function.ts'
import type { KernelAsyncOptions, KernelCallOptions, KernelPrepareOptions } from './call/kernel-options.ts'
import { kernelTarget } from './call/kernel-target.ts'
import { DEFAULT_FRAMES } from './call/kept-frames.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import { positional } from './call/positional.ts'
import { TypedHandler } from './targets/typed-handler.ts'
import { UntypedFunction } from './targets/untyped-function.ts'

/** The options of {@link targetCall}. */
export interface TargetCallOptions {
  /** The number of prepared frames that the kernel keeps for later calls with the same types and attributes: 1 to 64, by default 8. */
  readonly frames?: number
}

/** The handler or function of a kernel. */
export type KernelHandler = TypedHandler | UntypedFunction

/** A type or a tensor as its example for each operand of a prepared call, and an array for the rest operand. */
export type OperandTypes = readonly (Tensor | TensorType | readonly (Tensor | TensorType)[] | undefined)[]

/** A kernel as a function. Results are allocated and returned, unless `into` passes tensors for them. */
export interface Kernel<Result = Tensor, Handler = KernelHandler> {
  /**
   * Calls the kernel with its operands in order, then the attributes as an object if it has attributes, and then options. A rest
   * operand is one array.
   *
   * @returns the result; an object of results by name if there are several; `undefined` if there are none.
   * @throws {ArgumentError} if the call contradicts the signature of the kernel. @throws {XlaError} if the kernel fails.
   * @throws {ScopeClosedError} if the library, or the memory of a tensor, is closed.
   */
  (...args: readonly KernelArgument[]): Result
  /**
   * Calls the kernel on a thread of the core. The options may have `signal` and `deadline`.
   *
   * @throws (rejects with) the errors of the call, and of {@link PreparedCall.runAsync}.
   */
  async(...args: readonly KernelArgument<KernelAsyncOptions>[]): Promise<Result>
  /**
   * Prepares a call, for hot loops and for kernels with state. The tensors of a run are passed as flat lists. If the kernel
   * overwrites an operand (`@alias`), a run takes the same memory for both.
   *
   * @param operands a type or a tensor for each operand.
   * @throws {ArgumentError} if the types contradict the signature, or do not determine a result.
   */
  prepare(operands: OperandTypes, attributes?: object, options?: KernelPrepareOptions): PreparedCall
  readonly signature: KernelSignature
  /** The object of the kernel's convention. */
  readonly handler: Handler
}

/** An operand, the attributes, or the options of a kernel's call. */
export type KernelArgument<Options = KernelCallOptions> = Tensor | readonly Tensor[] | Options | object | undefined

/** Arguments in order: operands that may be omitted at the end, and then the attributes and options. */
type ArgumentsFor<Parameters extends ParameterTypes, Last extends readonly unknown[]> = Parameters extends readonly [
  infer First extends ParameterTypes[number],
  ...infer Rest extends ParameterTypes,
]
  ? First[1] extends 'remaining'
    ? readonly [readonly Tensor[], ...Last] | Last
    : First[1] extends 'optional'
      ? readonly [Tensor, ...ArgumentsFor<Rest, Last>] | readonly [undefined, ...Last] | Last
      : readonly [Tensor, ...ArgumentsFor<Rest, Last>]
  : Last

/** The attributes, which may be omitted if none is required, and then the options. */
type LastArguments<Attributes, Options> = keyof Attributes extends never
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
  ): PreparedCall<TensorsFor<OperandsOf<Text>>, TensorsFor<ResultsOf<Text>>>
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
export function targetCall(given: unknown, handler: unknown, options?: TargetCallOptions): unknown {
  const hint = "Write targetCall('(x: f32[n]) -> (y: f32[n])', typedHandler(library, 'f'))."
  if (!(handler instanceof TypedHandler || handler instanceof UntypedFunction)) {
    throw wrongType('handler', 'a typed handler or an untyped function', handler, hint)
  }
  const signature = readSignature(handler.name, given, hint)
  const { frames = DEFAULT_FRAMES } = checkOptions(options, ['frames'])
  const limit = checkFrames(frames)
  const forms =
    signature.source === 'none'
      ? positionalForms(handler, limit)
      : kernelFunction(signature, kernelTarget(signature, handler, limit))
  return callable(forms.call, signature.name, { async: forms.async, prepare: forms.prepare, signature, handler })
}

/** The functions of a kernel about which only the convention is known. */
function positionalForms(handler: KernelHandler, limit: number): Omit<KernelForms<PreparedCall>, 'batch'> {
  const extra = handler instanceof TypedHandler ? 'attrs' : 'opaque'
  const hasState = handler instanceof TypedHandler && handler.stages.includes('instantiate')
  const { call, async } = positional(handler.name, {
    extra,
    frames: { limit: hasState ? 0 : limit, gate: handler.gate },
    prepare: (options: object) => handler.prepare(options),
    ...preparedCalls,
  })
  return {
    call,
    async,
    prepare: (operands, attributes, options) =>
      handler.prepare({
        ...options,
        operands,
        ...(attributes === undefined ? {} : { [extra]: attributes }),
      } as never),
  }
}

const MOST_FRAMES = 64

/** @throws {ArgumentRangeError} if a number of frames is not a whole number from 1 to 64. */
export function checkFrames(frames: unknown): number {
  if (Number.isInteger(frames) && (frames as number) >= 1 && (frames as number) <= MOST_FRAMES) return frames as number
  throw wrongValue('frames', `a whole number from 1 to ${MOST_FRAMES}`, frames)
}
