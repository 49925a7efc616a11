import { afterAll, describe, expect, test } from 'vitest'
import { buildModel, localDriver, type ModelBuilder, type OperandHandle, type OutputType } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { expectFailure } from './support.ts'

const driver = localDriver()
afterAll(() => driver.closeAsync())

const f4: OutputType = { type: 'TENSOR_FLOAT32', dimensions: [4] }
const open: OutputType = { type: 'TENSOR_FLOAT32', dimensions: [0, 0, 0, 0] }
const bool: OutputType = { type: 'TENSOR_BOOL8', dimensions: [4] }

type Build = (g: ModelBuilder, x: OperandHandle, number: (value: number) => OperandHandle) => OperandHandle

/** Operations that no request can run, in models whose shapes or values come with requests, and what the message names. */
const impossible: readonly (readonly [what: string, build: Build, message: RegExp])[] = [
  [
    'ADD with 4 inputs, the last a scalar of the request',
    (g, x, n) => g.operation('ADD', [x, x, n(0), g.input('INT32', [])], f4),
    /ADD must get 3 inputs, got 4/,
  ],
  [
    'ADD of a scalar of the request',
    (g, x, n) => g.operation('ADD', [g.input('FLOAT32', []), x, n(0)], f4),
    /ADD must get a first tensor \(input 0\) of type .*, got FLOAT32/,
  ],
  [
    'RELU with 7 inputs',
    (g, x) => g.operation('RELU', [x, ...Array.from({ length: 6 }, () => g.input('INT32', []))], f4),
    /RELU must get 1 input, got 7/,
  ],
  [
    'ADD of an int32 tensor of open size and a float tensor',
    (g, x, n) => g.operation('ADD', [g.input('TENSOR_INT32', [0]), x, n(0)], f4),
    /ADD must get two tensors of type TENSOR_INT32, got TENSOR_FLOAT32/,
  ],
  [
    'a second operation behind one of open size',
    (g, x) => g.operation('EQUAL', [g.operation('RELU', [g.input('TENSOR_FLOAT32', [0])], f4), x], f4),
    /EQUAL must get an output of type TENSOR_BOOL8, got TENSOR_FLOAT32/,
  ],
  [
    'CONV_2D of an open image with a constant stride of 0',
    (g, _, n) => {
      const image = g.input('TENSOR_FLOAT32', [0, 0, 0, 0])
      const filter = g.input('TENSOR_FLOAT32', [1, 1, 1, 1])
      const bias = g.input('TENSOR_FLOAT32', [1])
      return g.operation('CONV_2D', [image, filter, bias, n(1), n(0), n(1), n(0)], open)
    },
    /CONV_2D must get strides.* got 0/,
  ],
  [
    'MAX_POOL_2D of an open tensor of rank 3',
    (g, _, n) =>
      g.operation('MAX_POOL_2D', [g.input('TENSOR_FLOAT32', [0, 0, 0]), n(1), n(1), n(1), n(1), n(1), n(0)], open),
    /MAX_POOL_2D must get an image \(input 0\) of rank 4, got rank 3/,
  ],
  [
    'a layout that is a number',
    (g, _, n) => {
      const image = g.input('TENSOR_FLOAT32', [0, 0, 0, 0])
      return g.operation('MAX_POOL_2D', [image, n(1), n(1), n(1), n(1), n(1), n(0), n(1)], open)
    },
    /MAX_POOL_2D must get a layout \(input 7\) of type BOOL, got INT32/,
  ],
  [
    'MEAN along an axis outside an open tensor',
    (g, _, n) => {
      const axes = g.constant('TENSOR_INT32', [1], [2])
      return g.operation('MEAN', [g.input('TENSOR_FLOAT32', [0, 0]), axes, n(0)], { ...f4, dimensions: [0] })
    },
    /MEAN must get an axis from -2 to 1, got 2/,
  ],
  [
    'axes that another operation computes',
    (g, x, n) => {
      const axes = g.operation('CAST', [g.input('TENSOR_FLOAT32', [1])], { type: 'TENSOR_INT32', dimensions: [1] })
      return g.operation('MEAN', [x, axes, n(0)], { ...f4, dimensions: [1] })
    },
    /must have a value of numbers that is known before the run/,
  ],
  [
    'an input that must have a value',
    (g, x) => g.operation('MAXIMUM', [x, g.noValue('TENSOR_FLOAT32')], f4),
    /MAXIMUM must get a second tensor \(input 1\), got an operand without a value/,
  ],
  [
    'TOPK_V2 with one output',
    (g, x, n) => g.operation('TOPK_V2', [x, n(2)], { ...f4, dimensions: [2] }),
    /TOPK_V2 must have 2 outputs, got 1/,
  ],
  [
    'SPLIT with another number of outputs than parts',
    (g, x, n) => g.operation('SPLIT', [x, n(0), n(2)], { ...f4, dimensions: [2] }),
    /SPLIT must have as many outputs as parts, 2, got 1/,
  ],
  [
    'SELECT by numbers',
    (g, x) => g.operation('SELECT', [x, x, x], f4),
    /SELECT must get a condition \(input 0\) of type TENSOR_BOOL8, got TENSOR_FLOAT32/,
  ],
  [
    'RESIZE_BILINEAR that aligns corners of pixels with centers',
    (g, _, n) => {
      const flags = [false, true, true].map((value) => g.scalar('BOOL', value))
      return g.operation('RESIZE_BILINEAR', [g.input('TENSOR_FLOAT32', [0, 0, 0, 0]), n(2), n(2), ...flags], open)
    },
    /RESIZE_BILINEAR must not align corners/,
  ],
]

/** Operations of which some requests run. */
const possible: readonly (readonly [what: string, build: Build])[] = [
  ['RELU of an open shape', (g) => g.operation('RELU', [g.input('TENSOR_FLOAT32', [])], { ...f4, dimensions: [] })],
  ['ADD with the activation of the request', (g, x) => g.operation('ADD', [x, x, g.input('INT32', [])], f4)],
  [
    'RESHAPE to the shape of the request',
    (g, x) => g.operation('RESHAPE', [x, g.input('TENSOR_INT32', [2])], { ...f4, dimensions: [0, 0] }),
  ],
  ['LESS of an open shape', (g, x) => g.operation('LESS', [g.input('TENSOR_FLOAT32', [0]), x], bool)],
  [
    'MAX_POOL_2D of NCHW images',
    (g, _, n) => {
      const inputs = [
        g.input('TENSOR_FLOAT32', [1, 1, 4, 4]),
        n(1),
        n(2),
        n(2),
        n(2),
        n(2),
        n(0),
        g.scalar('BOOL', true),
      ]
      return g.operation('MAX_POOL_2D', inputs, { type: 'TENSOR_FLOAT32', dimensions: [1, 1, 2, 2] })
    },
  ],
]

const modelOf = (build: Build): ReturnType<typeof buildModel> =>
  buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', [4])
    g.output(build(g, x, (value) => g.scalar('INT32', value)))
  })

describe('prepare refuses, and supportedOperations denies, what no request can run', () => {
  test.each(impossible)('%s', async (_, build, message) => {
    using model = modelOf(build)
    const error = await expectFailure(() => driver.prepare(model), 'INVALID_ARGUMENT')
    expect(error.sentence).toMatch(message)
    expect(await driver.supportedOperations(model)).toContain(false)
  })

  test.each(possible)('but not %s', async (_, build) => {
    using model = modelOf(build)
    expect(await driver.supportedOperations(model)).not.toContain(false)
    using prepared = await driver.prepare(model)
    expect(prepared).toBeDefined()
  })

  test('supportedOperations reads constants in pools', async () => {
    using pool = createPool(64)
    pool.write(0, Int32Array.of(0, 5))
    using model = buildModel((g) => {
      const x = g.input('TENSOR_FLOAT32', [0, 0])
      for (const offset of [0, 4]) {
        const axes = g.constant('TENSOR_INT32', [1], pool.slice(offset, 4))
        g.output(g.operation('REDUCE_SUM', [x, axes, g.scalar('BOOL', false)], { ...f4, dimensions: [0] }))
      }
    })
    expect(await driver.supportedOperations(model)).toEqual([true, false])
  })
})
