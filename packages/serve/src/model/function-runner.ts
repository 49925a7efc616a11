import type { KernelSignature } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import { StringTensor } from 'tenon/tstring'
import type { ModelFunction, Outputs, Runner } from './model-function.ts'
import { isModelTensor, typeOfTensor, type ModelTensor } from './model-tensor.ts'
import { resultCheck } from './result-check.ts'
import type { TensorSpec } from './tensor-spec.ts'

/** Returns the function that runs a function with the inputs by name, and checks its outputs. */
export function functionRunner(run: ModelFunction, signature: KernelSignature, outputs: readonly TensorSpec[]): Runner {
  const names = signature.operands.map(({ name }) => name)
  // A copy takes less time than an object that is made property by property.
  const noInputs: Readonly<Record<string, unknown>> = Object.fromEntries(names.map((name) => [name, undefined]))
  const argumentOf = (inputs: readonly ModelTensor[]): Record<string, ModelTensor> => {
    const made = { ...noInputs } as Record<string, ModelTensor>
    for (let i = 0; i < names.length; i++) made[names[i]!] = inputs[i]!
    return made
  }
  const check = resultCheck(signature)
  const finish = (inputs: readonly ModelTensor[], made: Outputs): ModelTensor[] => {
    const results = outputs.map((output, i) => {
      // A tensor on its own is the first output.
      const one = isModelTensor(made) ? [made][i] : made?.[output.name]
      checkOutput(signature.name, output, one)
      return one
    })
    check([...inputs, ...results].map(typeOfTensor))
    return results
  }
  return (inputs, context) => {
    const made = run(argumentOf(inputs), context)
    return isPromise(made) ? Promise.resolve(made).then((later) => finish(inputs, later)) : finish(inputs, made)
  }
}

const isPromise = (value: Outputs | Promise<Outputs>): value is Promise<Outputs> =>
  typeof (value as Partial<Promise<Outputs>> | undefined)?.then === 'function'

/** @throws {ArgumentError} unless a function returned the output that its signature promises. */
function checkOutput(model: string, { name, dtype }: TensorSpec, made: unknown): asserts made is ModelTensor {
  const isOfKind = isModelTensor(made) && (dtype === 'string') === made instanceof StringTensor
  if (isOfKind) return
  const title = `the output ${name} of the model ${model}`
  if (!isModelTensor(made)) throw wrongType(title, 'a tensor', made, `Return { ${name}: tensor(...) }.`)
  throw wrongType(title, dtype === 'string' ? 'a string tensor' : 'a tensor of numbers', made)
}
