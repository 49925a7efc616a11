import { tensor, type Tensor } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import {
  createServer,
  defineModel,
  ModelLoadError,
  type InferenceServer,
  type Model,
  type ServerOptions,
} from '../../src/index.ts'

import { statefulModels } from './stateful-models.ts'

/** The start of the keys of shared memory that clients of the fixture may register. */
export const KEY_PREFIX = 'conformance-'

type Overrides = { readonly maxBatchSize?: number }

/** Makes the models of Triton's own model repository that the examples use. */
const makers: Readonly<Record<string, (name: string, overrides: Overrides) => Model>> = {
  simple: (name, { maxBatchSize = 8 }) =>
    defineModel({
      name,
      maxBatchSize,
      signature:
        '(INPUT0: i32[batch, 16], INPUT1: i32[batch, 16]) -> (OUTPUT0: i32[batch, 16], OUTPUT1: i32[batch, 16])',
      run: ({ INPUT0, INPUT1 }) => sumAndDifference('i32', INPUT0, INPUT1),
    }),
  simple_int8: (name, { maxBatchSize = 8 }) =>
    defineModel({
      name,
      maxBatchSize,
      signature: '(INPUT0: i8[batch, 16], INPUT1: i8[batch, 16]) -> (OUTPUT0: i8[batch, 16], OUTPUT1: i8[batch, 16])',
      run: ({ INPUT0, INPUT1 }) => sumAndDifference('i8', INPUT0, INPUT1),
    }),
  // Adds and subtracts integers that are written in decimal digits.
  simple_string: (name, { maxBatchSize = 8 }) =>
    defineModel({
      name,
      maxBatchSize,
      signature:
        '(INPUT0: string[batch, 16], INPUT1: string[batch, 16]) -> (OUTPUT0: string[batch, 16], OUTPUT1: string[batch, 16])',
      run: ({ INPUT0, INPUT1 }) => {
        const right = INPUT1.toArray().map(Number)
        const combined = (sign: number): StringTensor =>
          StringTensor.from(
            INPUT0.toArray().map((left, i) => String(Number(left) + sign * right[i]!)),
            { shape: INPUT0.shape },
          )
        return { OUTPUT0: combined(1), OUTPUT1: combined(-1) }
      },
    }),
  simple_identity: (name, { maxBatchSize = 8 }) =>
    defineModel({
      name,
      maxBatchSize,
      signature: '(INPUT0: string[batch, n]) -> (OUTPUT0: string[batch, n])',
      run: ({ INPUT0 }) => INPUT0,
    }),
  // Never answers.
  slow: (name) =>
    defineModel({
      name,
      signature: '(INPUT0: i32[batch, 16], INPUT1: i32[batch, 16]) -> (OUTPUT0: i32[batch, 16])',
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    }),
  // Has the inputs and outputs of the network, and answers zeros.
  densenet_onnx: (name) =>
    defineModel({
      name,
      signature: '(data_0: f32[3, 224, 224]) -> (fc6_1: f32[1000])',
      run: () => tensor('f32', [1000]),
    }),
}

function sumAndDifference(dtype: 'i8' | 'i32', left: Tensor, right: Tensor): Record<'OUTPUT0' | 'OUTPUT1', Tensor> {
  const [x, y] = [left.toArray().map(Number), right.toArray().map(Number)]
  const combined = (sign: number): Tensor =>
    tensor(
      dtype,
      left.shape,
      x.map((value, i) => value + sign * y[i]!),
    )
  return { OUTPUT0: combined(1), OUTPUT1: combined(-1) }
}

/** Starts a server whose models are loaded. */
export function startAll(): Promise<InferenceServer> {
  return start({ models: [...Object.entries(makers).map(([name, make]) => make(name, {})), ...statefulModels] })
}

/** Starts a server that loads models only when clients say so, and whose index has a number of models. */
export function startExplicit(count: number): Promise<InferenceServer> {
  const others = Array.from({ length: count - Object.keys(makers).length }, (_, i) => `other_${i}`)
  const names = [...Object.keys(makers), ...others]
  return start({
    modelControl: 'explicit',
    repository: {
      names: () => names,
      load: async (name, overrides = {}) => {
        const make = makers[name]
        if (make === undefined) throw new ModelLoadError(`failed to load '${name}': the repository has no such model`)
        return { models: [make(name, overrides)], closeAsync: async () => {} }
      },
    },
  })
}

function start(options: Partial<ServerOptions>): Promise<InferenceServer> {
  return createServer({
    name: 'triton',
    http: { port: 0 },
    grpc: { port: 0 },
    allowClientSharedMemory: KEY_PREFIX,
    logError: () => {}, // the examples send wrong requests on purpose
    ...options,
  })
}
