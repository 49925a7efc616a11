import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cpuKernels } from '../src/index.ts'
import * as reference from './reference.ts'
import { expectClose, run, sample, scalar, type Operand, type Value } from './run-operation.ts'
import { expectFailure } from './support.ts'

const types = [
  'TENSOR_FLOAT32',
  'TENSOR_FLOAT16',
  'TENSOR_INT32',
  'TENSOR_QUANT8_ASYMM',
  'TENSOR_QUANT8_ASYMM_SIGNED',
] as const

describe.each(types)('moving %s', (type) => {
  const same = type === 'TENSOR_FLOAT32' || type === 'TENSOR_FLOAT16' ? {} : { scale: 0.05, zeroPoint: 0 }

  test('TRANSPOSE', async () => {
    for (const order of [[2, 0, 1], [1, 0, 2], undefined]) {
      const x = sample(type, [2, 3, 4])
      const expected = reference.transpose(x.array, order ?? [2, 1, 0])
      const inputs =
        order === undefined
          ? [x.value]
          : [x.value, { type: 'TENSOR_INT32', dimensions: [3], raw: order, isInput: false } as const]
      expectClose(await run('TRANSPOSE', inputs, { type, dimensions: expected.shape, ...same }), expected, 1e-5)
    }
  })

  test('RESHAPE takes its shape from the request', async () => {
    const x = sample(type, [2, 3, 4])
    for (const isInput of [true, false]) {
      const shape = { type: 'TENSOR_INT32', dimensions: [2], raw: [-1, 4], isInput } as const
      expectClose(
        await run('RESHAPE', [x.value, shape], { type, dimensions: [0, 0], ...same }),
        { shape: [6, 4], values: x.array.values },
        1e-5,
      )
    }
  })

  test('GATHER', async () => {
    const x = sample(type, [3, 4, 2])
    const indices = { shape: [2, 2], values: [3, 0, 0, 1] }
    const expected = reference.gather(x.array, indices, 1)
    const inputs = [x.value, scalar(1), { type: 'TENSOR_INT32', dimensions: [2, 2], raw: indices.values } as const]
    expectClose(await run('GATHER', inputs, { type, dimensions: expected.shape, ...same }), expected, 1e-5)
  })

  test('ARGMAX', async () => {
    for (const [shape, axis] of [
      [[3, 4, 2], 1],
      [[3, 4, 2], -1],
      [[5], 0],
    ] as const) {
      const x = sample(type, shape)
      const expected = reference.argmax(x.array, axis < 0 ? axis + shape.length : axis)
      expectClose(
        await run('ARGMAX', [x.value, scalar(axis)], { type: 'TENSOR_INT32', dimensions: expected.shape }),
        expected,
        0,
      )
    }
  })
})

describe('what operations refuse', () => {
  const float = (shape: readonly number[]) => sample('TENSOR_FLOAT32', shape).value
  const out = (dimensions: readonly number[]): Operand => ({ type: 'TENSOR_FLOAT32', dimensions })
  const int = (...raw: number[]): Value & { isInput: false } => ({
    type: 'TENSOR_INT32',
    dimensions: [raw.length],
    raw,
    isInput: false,
  })

  test.each([
    ['ADD of shapes that do not broadcast', 'ADD', [float([2, 3]), float([2, 4]), scalar(0)], out([2, 3])],
    ['ADD with an unknown activation', 'ADD', [float([2]), float([2]), scalar(4)], out([2])],
    ['ADD without an activation', 'ADD', [float([2]), float([2])], out([2])],
    ['ADD of an axis declared otherwise', 'ADD', [float([2]), float([2]), scalar(0)], out([3])],
    ['SOFTMAX with beta 0', 'SOFTMAX', [float([2]), scalar(0, 'FLOAT32')], out([2])],
    ['RESHAPE to another count', 'RESHAPE', [float([6]), int(4, 2)], out([0, 0])],
    ['RESHAPE to a shape below 0', 'RESHAPE', [float([6]), int(-2, -3)], out([0, 0])],
    ['TRANSPOSE with an axis twice', 'TRANSPOSE', [float([2, 3]), int(0, 0)], out([2, 2])],
    ['CONCATENATION along no axis', 'CONCATENATION', [float([2]), float([2]), scalar(1)], out([4])],
    [
      'CONV_2D with stride 0',
      'CONV_2D',
      [float([1, 4, 4, 1]), float([1, 2, 2, 1]), float([1]), scalar(1), scalar(0), scalar(1), scalar(0)],
      out([0, 0, 0, 0]),
    ],
    [
      'CONV_2D with a window that does not fit',
      'CONV_2D',
      [float([1, 2, 2, 1]), float([1, 3, 3, 1]), float([1]), scalar(2), scalar(1), scalar(1), scalar(0)],
      out([0, 0, 0, 0]),
    ],
    [
      'CONV_2D with a bias too short',
      'CONV_2D',
      [float([1, 4, 4, 1]), float([2, 2, 2, 1]), float([1]), scalar(1), scalar(1), scalar(1), scalar(0)],
      out([0, 0, 0, 0]),
    ],
    [
      'AVERAGE_POOL_2D with negative padding',
      'AVERAGE_POOL_2D',
      [
        float([1, 4, 4, 1]),
        scalar(-1),
        scalar(0),
        scalar(0),
        scalar(0),
        scalar(1),
        scalar(1),
        scalar(2),
        scalar(2),
        scalar(0),
      ],
      out([0, 0, 0, 0]),
    ],
    [
      'FULLY_CONNECTED of the wrong size',
      'FULLY_CONNECTED',
      [float([2, 5]), float([3, 4]), float([3]), scalar(0)],
      out([2, 3]),
    ],
  ] as const)('%s', async (_, operation, inputs, output) => {
    await expectFailure(() => run(operation, inputs, output), 'INVALID_ARGUMENT')
  })

  test('GATHER fails for an index outside its axis', async () => {
    for (const index of [-1, 3, 2 ** 31 - 1]) {
      const inputs = [float([3]), scalar(0), { type: 'TENSOR_INT32', dimensions: [1], raw: [index] } as const]
      await expectFailure(() => run('GATHER', inputs, out([1])), 'GENERAL_FAILURE')
    }
  })
})

test('the operations of the driver are those of the README', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const table = readme.slice(readme.indexOf('| operations'), readme.indexOf('Each operation is tested'))
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '')
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
  expect(named.toSorted()).toEqual([...cpuKernels.keys()].toSorted())
})
