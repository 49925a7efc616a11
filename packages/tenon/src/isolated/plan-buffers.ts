import type { Tensor } from '@tenon/core'
import { globalGate, type Gated } from '@tenon/core/internal'
import { checkTensors, Temp, token, type CallShape } from '@tenon/custom-call/internal'
import type { CallPlan } from './isolated-call.ts'
import type { IsolatedContext } from './isolated-context.ts'

const NO_OWNER: Gated = { gate: globalGate }

/** Checks the tensors of a run, and distributes them over the buffers of the call. @throws as a call in this process */
export function planBuffers({ gate }: IsolatedContext, shape: CallShape, tensors: readonly Tensor[]): CallPlan {
  const checked = checkTensors({ gate, target: { gate }, shape }, [NO_OWNER, NO_OWNER, ...tensors])
  let next = 0
  return {
    operands: shape.leaves.map((leaf) => {
      if (leaf === token) return null
      if (leaf instanceof Temp) return { tensor: undefined, type: leaf.type, isWritten: true }
      const isWritten = next >= shape.operandCount
      const type = shape.types[next]!
      return { tensor: checked[next++]!, type, isWritten }
    }),
  }
}
