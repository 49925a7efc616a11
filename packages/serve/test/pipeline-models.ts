import { Library, tensor, type IsolatedLibrary } from 'tenon'
import { onTestFinished } from 'vitest'
import { defineModel, definePipeline, type Model, type ModelOptions } from '../src/index.ts'
import { input } from './support.ts'

/** That of models with one input and one output. */
export const signature = '(x: f32[n]) -> (y: f32[n])'

/** A model that adds a number to its input. */
export const add = (name: string, by: number, others: Partial<ModelOptions<typeof signature>> = {}) =>
  defineModel({
    name,
    signature,
    run: ({ x }) =>
      tensor(
        'f32',
        x.shape,
        x.toArray().map((value) => value + by),
      ),
    ...others,
  })

/** Models that add 1 and 10. */
export const one = add('one', 1)
export const ten = add('ten', 10)

/** Adds two vectors. */
export const sum = defineModel({
  name: 'sum',
  signature: '(a: f32[n], b: f32[n]) -> (sum: f32[n])',
  run: ({ a, b }) => {
    const right = b.toArray()
    return tensor(
      'f32',
      a.shape,
      a.toArray().map((value, i) => value + right[i]!),
    )
  },
})

/** A pipeline of one model after the other. */
export function chain(names: readonly string[], others: object = {}): Model {
  const steps = names.map((model, i) => ({
    model,
    inputs: { x: i === 0 ? 'x' : `t${i}` },
    outputs: { y: i === names.length - 1 ? 'y' : `t${i + 1}` },
  }))
  return definePipeline({ name: 'chain', signature, steps, ...others } as never)
}

/** A request with numbers for x. */
export const request = (...data: number[]) => ({ inputs: [input('x', 'FP32', [data.length], data)] })

/** Workers that end with the test. */
export const isolate = async (path: string, workers = 1): Promise<IsolatedLibrary> => {
  const library = await Library.isolate(path, { workers, restart: { limit: 100, backoff: 0 } })
  onTestFinished(() => library.closeAsync())
  return library
}

/** The kernel that doubles its input, and commits a fault if it has one. */
export const kernel = (library: IsolatedLibrary, name: string, fault = 0, others: Partial<ModelOptions> = {}): Model =>
  defineModel({
    name,
    kernel: library.kernel('faulty'),
    attributes: { fault },
    memory: library.memory,
    ...others,
  })
