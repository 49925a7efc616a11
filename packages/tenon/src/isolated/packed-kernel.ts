import type { KernelSignature, Tensor } from '@tenon/core'
import type { Gated, IsolatedRunOptions } from '@tenon/core/internal'
import type { IsolatedKernel } from '@tenon/custom-call'
import { makeKernel, refusePrepare, runsRemotely, type RemoteFrame } from '@tenon/custom-call/internal'
import { beginPacked, isolatedPackedFunc, type PackedTarget } from '@tenon/packed-func/internal'
import { checkPackedAttributes } from '../kernels/packed-attribute.ts'
import { preparePackedCall, tensorsOf, type PackedCall } from '../kernels/packed-call.ts'

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
  const { host } = target
  return makeKernel<PackedCall & RemoteFrame, undefined>(signature, undefined, {
    frames: { limit: frames, gate: host.gate },
    refusePrepare: () => refusePrepare(name),
    prepare: (shape) => {
      const call = preparePackedCall(signature, host, shape)
      return Object.assign(call, {
        begin: (list: readonly Gated[], options: object) => {
          const tensors = tensorsOf(list)
          const values = call.order(tensors)
          const results = new Set(tensors.slice(call.operandCount))
          const operands = new Set(tensors.slice(0, call.operandCount))
          // Tensors that are neither are temporaries.
          const isWritten = (tensor: Tensor): boolean => results.has(tensor) || !operands.has(tensor)
          return beginPacked(target, values, isWritten, options as IsolatedRunOptions)
        },
      })
    },
    ...runsRemotely(host),
  }) as unknown as IsolatedKernel
}
