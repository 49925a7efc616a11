import { expect, expectTypeOf, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { defineModel, definePipeline, type Model } from '../src/index.ts'

const tokenize = defineModel({
  name: 'tokenize',
  signature: '(text: string[n]) -> (ids: s32[n, 8], mask: bool[n, 8])',
  run: () => ({}),
})
const embed = defineModel({
  name: 'embed',
  signature: '(ids: int32[n, 8]) -> (vector: f32[n, 4])',
  run: () => ({}),
})

const first = { model: tokenize, inputs: { text: 'text' }, outputs: { ids: 'ids' } } as const

test('a pipeline is a model with the types of its signature, from the server to the client', () => {
  const pipeline = definePipeline({
    name: 'p',
    signature: '(text: string[n]) -> (vector: f32[n, 4])',
    steps: [
      { model: embed, inputs: { ids: 'ids' }, outputs: { vector: 'vector' } },
      { model: tokenize, inputs: { text: 'text' }, outputs: { ids: 'ids' } },
    ],
  })
  expectTypeOf(pipeline).toEqualTypeOf<Model<'(text: string[n]) -> (vector: f32[n, 4])'>>()
  const client = createClient<{ p: typeof pipeline }>('http://127.0.0.1')
  expectTypeOf(client.infer<'p'>).returns.resolves.toHaveProperty('vector')
})

test('a step with a model must name its inputs and outputs, with tensors of their types', () => {
  const p = { name: 'p', signature: '(text: string[n]) -> (vector: f32[n, 4])' } as const
  const outputs = { vector: 'vector' } as const
  const unknownTensor = { model: embed, inputs: { ids: 'id' }, outputs } as const
  const otherType = { model: embed, inputs: { ids: 'text' }, outputs } as const
  const unknownInput = { model: embed, inputs: { id: 'ids' }, outputs } as const
  const unknownOutput = { model: embed, inputs: { ids: 'ids' }, outputs: { vectors: 'vector' } } as const
  const otherOutput = { model: embed, inputs: { ids: 'ids' }, outputs: { vector: 'other' } } as const
  const byName = { model: 'embed', inputs: { ids: 'ids' }, outputs } as const
  const numbers = { name: 'p', signature: '(text: string[n]) -> (ids: f32[n, 8])' } as const

  // @ts-expect-error The tensor does not exist.
  expect(() => definePipeline({ ...p, steps: [first, unknownTensor] })).toThrow('inputs that are made, got "id"')
  // @ts-expect-error No step makes the output of the pipeline.
  expect(() => definePipeline({ ...p, steps: [first, otherOutput] })).toThrow('the output "vector" must be made')
  // The server finds the other errors, because it knows which models there are.
  // @ts-expect-error The model has no such input.
  definePipeline({ ...p, steps: [first, unknownInput] })
  // @ts-expect-error The model has no such output.
  definePipeline({ ...p, steps: [first, unknownOutput] })
  // @ts-expect-error The output of the pipeline has another element type.
  definePipeline({ ...numbers, steps: [first] })
  // @ts-expect-error The tensor has another element type.
  definePipeline({ ...p, steps: [otherType] })
  // Models that are only named can have every type.
  definePipeline({ ...p, steps: [first, byName] })
})
