import { ArgumentError, formatSignature, type KernelSignature } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import type { IsolatedArgument, IsolatedKernel } from 'tenon'
import type { Cancellation } from '../service/cancellation.ts'
import type { Runner } from './model-function.ts'
import { resultCheck, type ModelTensor } from './model-tensor.ts'
import type { TensorSpec } from './tensor-spec.ts'

/** Whether a kernel is one of TensorFlow's C API. */
export const isOperation = (kernel: IsolatedKernel<unknown> | undefined): boolean =>
  kernel?.signature.convention === 'tensorflow'

/** Returns the function that runs a kernel. @throws {ArgumentError} if the kernel cannot have the outputs. */
export function kernelRunner(
  kernel: IsolatedKernel<unknown>,
  { attributes = {}, deadline = 30_000 }: { readonly attributes?: unknown; readonly deadline?: number },
  signature: KernelSignature,
  outputs: readonly TensorSpec[],
): Runner {
  const hasAttributes = kernel.signature.attributes.length > 0
  checkStrings(outputs, kernel)
  // A kernel without strings in its own signature takes the bytes of their packed tensor.
  const takesBytes = kernel.signature.operands.map(
    ({ stringLayout }) => stringLayout === undefined && !isOperation(kernel),
  )
  const check = isOperation(kernel) ? resultCheck(signature) : undefined
  /** Controllers that were not aborted serve later runs, because to make one takes as long as to call a short kernel. */
  const idle: AbortController[] = []
  const outputsOf = (made: unknown): ModelTensor[] =>
    outputs.length === 1
      ? [made as ModelTensor]
      : outputs.map(({ name }) => (made as Readonly<Record<string, ModelTensor>>)[name]!)
  const takeSignal = (cancellation: Cancellation): { signal: AbortSignal; leave: () => void } => {
    const controller = idle.pop() ?? new AbortController()
    const { signal } = controller
    cancellation.listener = () => controller.abort(cancellation.reason)
    const leave = (): void => {
      cancellation.listener = undefined
      if (!signal.aborted) idle.push(controller)
    }
    return { signal, leave }
  }
  return (inputs, context, allocator, cancellation) => {
    const { signal, leave } =
      cancellation === undefined ? { signal: context.signal, leave: () => {} } : takeSignal(cancellation)
    const { affinity } = context
    const limits = affinity === undefined ? { deadline, signal } : { deadline, signal, affinity }
    const options = allocator === undefined ? limits : { ...limits, allocator }
    const args: IsolatedArgument[] = inputs.map((input, i) =>
      input instanceof StringTensor && takesBytes[i] ? input.sharedTensor() : input,
    )
    if (hasAttributes) args.push(attributes as IsolatedArgument)
    args.push(options)
    return kernel.async(...args).then(
      (made) => {
        leave()
        const results = outputsOf(made)
        check?.(inputs, results)
        return results
      },
      (error: unknown) => {
        leave()
        throw error
      },
    )
  }
}

/** @throws {ArgumentError} if a kernel has an output of strings that its own signature does not have. */
function checkStrings(outputs: readonly TensorSpec[], { signature }: IsolatedKernel<unknown>): void {
  const own = signature.results.filter(({ isToken }) => !isToken)
  const other = outputs.find(
    ({ stringLayout }, i) => stringLayout !== own[i]?.stringLayout && own[i]?.variable === undefined,
  )
  if (other === undefined) return
  throw new ArgumentError(
    `the output ${other.name} of the kernel ${signature.name} must have the elements of its own signature, got ${other.dtype}`,
    { hint: `The kernel has ${formatSignature(signature)}. Leave the signature out to use it.` },
  )
}
