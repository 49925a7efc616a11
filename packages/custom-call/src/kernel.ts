import type { KernelSignature, StringTensorLike, Tensor, TensorType } from '@tenon/core'
import { isSignature, wrongType, wrongValue } from '@tenon/core/internal'
import { callable, callFunction, type CallFunctions } from './call/call-function.ts'
import type { Callee } from './call/callee.ts'
import type { FrameCall } from './call/frames.ts'
import type { KernelHandler } from './call/handler-callee.ts'
import { kernelArguments, type KernelCallShape } from './call/kernel-arguments.ts'
import type { KernelAsyncOptions, KernelCallOptions, KernelPrepareOptions } from './call/kernel-options.ts'
import { listedArguments, type ListedShape } from './call/listed-arguments.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import { runUntil } from './call/run-later.ts'

/** A type or a tensor as its example for each operand of a prepared call, and an array for the rest operand. That of strings is a tensor. */
export type OperandTypes = readonly (OperandType | readonly OperandType[] | undefined)[]

type OperandType = Tensor | TensorType | StringTensorLike

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

/**
 * Returns a kernel whose calls a callee performs. The kernel reads the arguments of a call, checks them against the signature, infers
 * and allocates the results, and keeps what the callee has prepared for calls with the same types and attributes. If only the
 * convention of the kernel is known, its calls take the operands, and then `{ results, attrs }` or `{ results, opaque }`.
 *
 * @param handler the object of the convention, as `kernel.handler`.
 */
export function kernelOf<Call extends FrameCall, Result, Handler>(
  signature: KernelSignature,
  handler: Handler,
  callee: Callee<Call, never>,
): Kernel<Result, Handler> {
  const { name } = signature
  const { functions, prepare } =
    signature.source === 'none' ? listedFunctions(signature, callee) : namedFunctions(signature, callee)
  const { call, async, batch } = functions
  const members = {
    async,
    prepare: callee.refusePrepare ?? prepare,
    signature,
    handler,
    ...(callee.remote === undefined ? {} : { batch }),
  }
  return callable(call, name, members) as unknown as Kernel<Result, Handler>
}

interface KernelFunctions<Call> {
  readonly functions: CallFunctions
  prepare(types: unknown, attributes?: unknown, options?: KernelPrepareOptions): Call
}

function namedFunctions<Call extends FrameCall>(
  signature: KernelSignature,
  callee: Callee<Call, KernelCallShape>,
): KernelFunctions<Call> {
  const form = kernelArguments(signature, callee)
  return { functions: callFunction(signature.name, form, callee), prepare: form.prepareTypes }
}

function listedFunctions<Call extends FrameCall>(
  { name, convention }: KernelSignature,
  callee: Callee<Call, ListedShape>,
): KernelFunctions<Call> {
  const extra = convention === 'typed' ? 'attrs' : 'opaque'
  return {
    functions: callFunction(name, listedArguments(extra, callee, name), callee),
    prepare: (operands, attributes, options) =>
      callee.prepare({
        ...options,
        operands,
        ...(attributes === undefined ? {} : { [extra]: attributes }),
      } as never),
  }
}

/**
 * Returns a kernel whose calls another convention performs.
 *
 * @param callee prepares and runs the calls, and keeps 1 to 64 of them. Its `runAsync` gets a signal, which is also aborted at the
 * deadline, or all options of the call if the callee is remote. The kernel of a remote callee has `batch()`.
 * @throws {ArgumentError | ArgumentRangeError} if an argument is not a signature or a callee.
 */
export function makeKernel<
  Call extends FrameCall,
  Handler,
  Result = Tensor,
  Shape extends KernelCallShape | ListedShape = KernelCallShape,
>(signature: KernelSignature, handler: Handler, callee: Callee<Call, Shape>): Kernel<Result, Handler> {
  if (!isSignature(signature)) throw wrongType('signature', 'the signature of a kernel', signature)
  if (typeof callee?.prepare !== 'function' || typeof callee.run !== 'function') {
    throw wrongType('callee', 'an object with prepare and run', callee)
  }
  checkFrames(callee.frames?.limit)
  // A process that runs calls can be ended, so it keeps deadlines itself.
  if (callee.remote !== undefined) return kernelOf(signature, handler, callee)
  const runAsync: typeof callee.runAsync = (call, list, options) =>
    runUntil(signature.name, options, (signal) => callee.runAsync(call, list, { signal }))
  return kernelOf(signature, handler, { ...callee, runAsync })
}

const MOST_FRAMES = 64

/** @throws {ArgumentRangeError} if a number of frames is not a whole number from 1 to 64. */
export function checkFrames(frames: unknown): number {
  if (Number.isInteger(frames) && (frames as number) >= 1 && (frames as number) <= MOST_FRAMES) return frames as number
  throw wrongValue('frames', `a whole number from 1 to ${MOST_FRAMES}`, frames)
}
