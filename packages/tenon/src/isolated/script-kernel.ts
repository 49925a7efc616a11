import { ArgumentError, type KernelSignature, type TensorType } from '@tenon/core'
import {
  checkOptions,
  CONSTANTS,
  STATUS,
  stringSize,
  type RemoteAnswer,
  type RemoteHost,
  type RemoteKernel,
} from '@tenon/core/internal'
import type { IsolatedKernel } from '@tenon/custom-call'
import {
  callError,
  callShape,
  IsolatedCall,
  makeKernel,
  refusePrepare,
  refuseStream,
  runsRemotely,
  Temp,
  token,
} from '@tenon/custom-call/internal'
import { encodeScript, missingExport, scriptThrown } from '@tenon/isolate/internal'
import { stringClassPath } from '../kernels/string-class.ts'

/**
 * Makes a kernel of a function in TypeScript, which a worker in Node.js imports from its module.
 *
 * @param frames the number of prepared calls that the kernel keeps.
 * @throws {ArgumentError} if the kernel has no signature, because only the signature knows the results.
 */
export function scriptKernel(
  host: RemoteHost,
  signature: KernelSignature,
  symbol: string,
  frames: number,
): IsolatedKernel {
  const { name, source, attributes } = signature
  if (source === 'none') {
    throw new ArgumentError(`${name} must have a signature, because it is a function of a script`, {
      hint: `Call library.kernel(${JSON.stringify(name)}, { signature: '(x: f32[n]) -> (y: f32[n])' }), or write a sidecar.`,
      details: { path: host.path, name },
    })
  }
  const pointer = attributes.find(({ type }) => type === 'pointer')
  if (pointer !== undefined) {
    throw new ArgumentError(`${pointer.name} of ${name} must not be an address, which means nothing in another process`)
  }
  return makeKernel<IsolatedCall, undefined>(signature, undefined, {
    frames: { limit: frames, gate: host.gate },
    ...runsRemotely(host),
    refusePrepare: () => refusePrepare(name),
    prepare: ({ values, resources, stream, layouts, ...options }) => {
      refuseStream(name, stream)
      checkOptions(resources, [], `the resources of ${name} in another process`)
      if (layouts !== undefined) throw new ArgumentError(`${name} must have row-major tensors, because it is a script`)
      const shape = callShape(symbol, options)
      const types = shape.leaves.map((leaf) =>
        leaf === token ? null : leaf instanceof Temp ? leaf.type : (leaf as TensorType),
      )
      const operands = shape.operands.length
      const kernel: RemoteKernel = {
        name,
        library: host.path,
        file: host.file,
        convention: CONSTANTS.TN_HOST_SCRIPT,
        symbols: ['', '', '', symbol],
        operands,
        results: shape.leaves.length - operands,
        descriptor: encodeScript(types.slice(0, operands), types.slice(operands), values, stringClassPath),
      }
      return new IsolatedCall(host, {
        kernel,
        shape,
        // The dimensions of strings without structs are not those of their memory.
        isResizable: shape.types.every((type) => type.strings === undefined || stringSize(type.strings.layout) > 0),
        hasDims: true,
        failure: (answer) => scriptFailure(kernel, answer),
      })
    },
  }) as unknown as IsolatedKernel
}

const UNKNOWN = 2

function scriptFailure(kernel: RemoteKernel, answer: RemoteAnswer): Error | undefined {
  const cause = scriptThrown(answer)
  if (cause === undefined) return missingExport(kernel, answer)
  const [target, status] = [kernel.symbols[3], STATUS.KERNEL_FAILED.value]
  return callError({ convention: 'typed', target, status, xlaCode: UNKNOWN, text: cause.message, cause })
}
