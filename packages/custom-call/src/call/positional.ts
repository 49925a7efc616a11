import type { Tensor } from '@tenon/core'
import { callFunction, type CallMaker } from './call-function.ts'
import type { Tensors } from './call-target.ts'
import { kernelBatch } from './kernel-batch.ts'
import type { KernelForms } from './kernel-function.ts'
import type { FrameCall } from './kept-frames.ts'
import { isTensor, refuseTensor } from './taken.ts'

/**
 * Makes the functions of a kernel about which only the convention is known: its calls take the operands, and then
 * `{ results, attrs }` or `{ results, opaque }`.
 */
export function positional<Call extends FrameCall>(
  name: string,
  maker: CallMaker<Call>,
): Omit<KernelForms<Call>, 'prepare'> {
  const forms = callFunction(maker)
  /** The last argument has the options. It is missing only for a kernel without results, which is refused. */
  const split = (args: readonly unknown[]): [operands: Tensors, options: never] => {
    const last = args.findIndex((arg) => !isTensor(arg))
    const count = last === -1 ? args.length : last
    if (args.length > count + 1) refuseTensor(args[count], `operand ${count} of ${name}`)
    return [args.slice(0, count) as Tensor[], args[count] as never]
  }
  return {
    call: (...args) => forms.call(...split(args)),
    async: async (...args) => forms.async(...split(args)),
    batch: kernelBatch(name, (args) => forms.begin(...split(args)), maker.remote),
  }
}
