import type { KernelSignature, Tensor } from '@tenon/core'
import { isSignature, wrongType } from '@tenon/core/internal'
import { runUntil } from './async/run-until.ts'
import { callable } from './call/call-function.ts'
import { kernelFunction, type KernelCallee } from './call/kernel-function.ts'
import type { FrameCall } from './call/kept-frames.ts'
import { checkFrames, type Kernel } from './target-call.ts'

/**
 * Returns a kernel whose calls another convention performs. The kernel reads the arguments of a call, checks them against the
 * signature, infers and allocates the results, and keeps what the callee has prepared for calls with the same types and attributes.
 *
 * @param handler the object of the convention, as `kernel.handler`.
 * @param callee prepares and runs the calls, and keeps 1 to 64 of them. Its `runAsync` gets a signal, which is also aborted at the
 * deadline, or all options of the call if the callee is remote. The kernel of a remote callee has `batch()`.
 * @throws {ArgumentError | ArgumentRangeError} if an argument is not a signature or a callee.
 */
export function makeKernel<Call extends FrameCall, Handler, Result = Tensor>(
  signature: KernelSignature,
  handler: Handler,
  callee: KernelCallee<Call>,
): Kernel<Result, Handler> {
  if (!isSignature(signature)) throw wrongType('signature', 'the signature of a kernel', signature)
  if (typeof callee?.prepare !== 'function' || typeof callee.run !== 'function') {
    throw wrongType('callee', 'an object with prepare and run', callee)
  }
  checkFrames(callee.frames?.limit)
  // A process that runs calls can be ended, so it keeps deadlines itself.
  const runAsync: KernelCallee<Call>['runAsync'] =
    callee.remote === undefined
      ? (run, tensors, options) =>
          runUntil(signature.name, options, (signal) => callee.runAsync(run, tensors, { signal }))
      : callee.runAsync
  const { call, async, batch, prepare } = kernelFunction(signature, { ...callee, runAsync })
  const members = {
    async,
    prepare: callee.refusePrepare ?? prepare,
    signature,
    handler,
    ...(callee.remote === undefined ? {} : { batch }),
  }
  return callable(call, signature.name, members) as unknown as Kernel<Result, Handler>
}
