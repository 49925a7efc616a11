import { tensor } from '@tenon/core'
import {
  CrashLoopError,
  KernelCrashError,
  KernelDeadlineError,
  KernelMemoryError,
  WorkerLostError,
} from 'tenon/isolate'
import { expect, test } from 'vitest'
import { defineModel } from '../src/index.ts'
import { input, Served } from './support.ts'

const request = { inputs: [input('x', 'FP32', [1, 2], [1, 2])] }

/** Serves a function that throws an error at its first runs. @returns the status of the answer, and the number of runs */
async function infer(
  error: Error,
  failures: number,
  options: { readonly idempotent?: boolean },
): Promise<[number, number]> {
  let runs = 0
  const model = defineModel({
    name: 'm',
    signature: '(x: f32[rows, 2]) -> (y: f32[rows, 2])',
    ...options,
    run({ x }) {
      if (runs++ < failures) throw error
      return tensor('f32', x.shape, x.toArray())
    },
  })
  const served = await Served.start([model])
  const [status] = await served.infer('m', request)
  return [status, runs]
}

const crash = new KernelCrashError('crashed')

test('a request whose worker ended runs once more, and no more often', async () => {
  expect(await infer(crash, 1, {})).toEqual([200, 2])
  expect(await infer(crash, 9, {})).toEqual([500, 2])
  expect(await infer(new WorkerLostError('lost'), 1, { idempotent: true })).toEqual([200, 2])
})

test('a request of a model that is not idempotent runs once, whatever ended its worker', async () => {
  for (const error of [crash, new WorkerLostError('lost'), new KernelMemoryError('full'), new CrashLoopError('loop')]) {
    const [status, runs] = await infer(error, 9, { idempotent: false })
    expect([status >= 500, runs]).toEqual([true, 1])
  }
})

test('a request that missed its deadline, or whose function threw, runs once', async () => {
  expect(await infer(new KernelDeadlineError('late'), 9, {})).toEqual([504, 1])
  expect(await infer(new TypeError('wrong'), 9, {})).toEqual([500, 1])
})
