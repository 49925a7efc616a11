import type { KernelSignature } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import { StringTensor } from 'tenon/tstring'
import type { ModelFunction, ModelStream, Outputs, Runner, StreamRunner } from './model-function.ts'
import { isModelTensor, resultCheck, type ModelTensor } from './model-tensor.ts'
import type { RunContext } from './run-context.ts'
import type { TensorSpec } from './tensor-spec.ts'

/** Returns the function that runs a function with the inputs by name, and checks its outputs. */
export function functionRunner(run: ModelFunction, signature: KernelSignature, outputs: readonly TensorSpec[]): Runner {
  const argumentOf = inputsByName(signature)
  const finish = outputsInOrder(signature, outputs)
  return (inputs, context) => {
    // The types of a function have a sequence if its model has the option.
    const made = run(argumentOf(inputs), context as RunContext)
    return isPromise(made) ? Promise.resolve(made).then((later) => finish(inputs, later)) : finish(inputs, made)
  }
}

/** Returns the function that starts a generator with the inputs by name, and checks the outputs of each of its elements. */
export function streamRunner(
  run: ModelStream,
  signature: KernelSignature,
  outputs: readonly TensorSpec[],
): StreamRunner {
  const argumentOf = inputsByName(signature)
  const finish = outputsInOrder(signature, outputs)
  return (inputs, context) => {
    const iterator = iteratorOf(signature.name, run(argumentOf(inputs), context as RunContext))
    return {
      next: async () => {
        const { done, value } = await iterator.next()
        return done === true ? DONE : { done: false, value: finish(inputs, value) }
      },
      return: async () => {
        await iterator.return?.()
        return DONE
      },
    }
  }
}

const DONE = { done: true, value: undefined } as const

/** @throws {ArgumentError} unless a function returned what its option `stream` promises. */
function iteratorOf(model: string, made: unknown): AsyncIterator<Outputs, unknown> {
  const { [Symbol.asyncIterator]: iterate } = (made ?? {}) as Partial<AsyncIterable<Outputs, unknown>>
  if (typeof iterate === 'function') return iterate.call(made as AsyncIterable<Outputs, unknown>)
  throw wrongType(`the result of the model ${model}`, 'an async iterable', made, 'Write run as an async function*.')
}

/** Returns the function that makes the first argument of a function: the inputs by name. */
function inputsByName({ operands }: KernelSignature): (inputs: readonly ModelTensor[]) => Record<string, ModelTensor> {
  const names = operands.map(({ name }) => name)
  // A copy takes less time than an object that is made property by property.
  const noInputs: Readonly<Record<string, unknown>> = Object.fromEntries(names.map((name) => [name, undefined]))
  return (inputs) => {
    const made = { ...noInputs } as Record<string, ModelTensor>
    for (let i = 0; i < names.length; i++) made[names[i]!] = inputs[i]!
    return made
  }
}

/** Returns the function that checks what a function returned for its inputs, and puts the outputs in their order. */
function outputsInOrder(
  signature: KernelSignature,
  outputs: readonly TensorSpec[],
): (inputs: readonly ModelTensor[], made: Outputs) => ModelTensor[] {
  const check = resultCheck(signature)
  return (inputs, made) => {
    const results: ModelTensor[] = []
    const isOne = isModelTensor(made)
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i]!
      // A tensor on its own is the first output.
      const one = isOne ? (i === 0 ? made : undefined) : made?.[output.name]
      checkOutput(signature.name, output, one)
      results.push(one)
    }
    check(inputs, results)
    return results
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
