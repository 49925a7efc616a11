import type { KernelSignature, Tensor } from '@tenon/core'
import { callable, makeKernel } from '@tenon/custom-call/internal'
import type { Argument } from '@tenon/packed-func'
import type { RemoteValue } from '@tenon/packed-func/internal'
import type { WorkerCall } from '@tenon/isolate/internal'
import { checkPackedAttributes } from '../kernels/packed-attribute.ts'
import { preparePackedCall, type PackedCall } from '../kernels/packed-call.ts'
import { type RemoteCall, runsInWorkers, settleAll } from './isolated-call.ts'
import type { IsolatedKernel, IsolatedRunOptions } from './isolated-kernel.ts'
import type { IsolatedPackedFunc } from './isolated-packed-func.ts'
import { beginPacked, type PackedTarget } from './packed-run.ts'
import { refusePrepare } from './refusals.ts'
import { checkRunOptions, readRunOptions } from './run-options.ts'

const isAlwaysWritten = (): boolean => true

/** Makes a packed function whose calls run in a worker. */
export function isolatedPackedFunc(
  target: PackedTarget,
  name: string,
  options: IsolatedRunOptions = {},
  members: object = {},
): IsolatedPackedFunc {
  const { workers } = target.context
  const begin = (values: readonly unknown[]): WorkerCall<RemoteValue> =>
    beginPacked(target, values, isAlwaysWritten, options)
  return callable((...values: Argument[]) => workers.run(begin(values)), name, {
    ...members,
    async: async (...values: Argument[]) => workers.runAsync(begin(values)),
    batch: async (calls: readonly (readonly Argument[])[]) =>
      settleAll(
        workers,
        Array.from(calls, (values) => () => begin(values)),
      ),
    with: (given: IsolatedRunOptions) =>
      isolatedPackedFunc(target, name, readRunOptions(given, `the options of ${name}`), members),
  }) as unknown as IsolatedPackedFunc
}

/**
 * Makes a kernel of a packed function in a worker. Without a signature that names the results, the kernel passes its values on.
 *
 * @param frames the number of calls whose inferred types are kept.
 * @throws {ArgumentError} if packed functions cannot have an attribute of the signature.
 */
export function isolatedPackedKernel(target: PackedTarget, signature: KernelSignature, frames: number): IsolatedKernel {
  const { source, name } = signature
  if (source === 'none' || source === 'tvm-ffi') {
    return isolatedPackedFunc(target, name, {}, { signature }) as unknown as IsolatedKernel
  }
  checkPackedAttributes(signature)
  const { context } = target
  return makeKernel<PackedCall & RemoteCall, undefined>(signature, undefined, {
    frames: { limit: frames, gate: context.gate },
    refusePrepare: () => refusePrepare(name),
    prepare: (shape) => {
      const call = preparePackedCall(signature, context, shape)
      return Object.assign(call, {
        begin: (tensors: readonly Tensor[], options: object) => {
          const runOptions = checkRunOptions(options)
          const values = call.order(tensors)
          const results = new Set(tensors.slice(call.operandCount))
          const operands = new Set(tensors.slice(0, call.operandCount))
          // Tensors that are neither are temporaries.
          const isWritten = (tensor: Tensor): boolean => results.has(tensor) || !operands.has(tensor)
          return beginPacked(target, values, isWritten, runOptions)
        },
      })
    },
    ...runsInWorkers(context),
  }) as unknown as IsolatedKernel
}
