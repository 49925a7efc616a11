import { tracingChannel } from 'node:diagnostics_channel'
import type { CallTrace } from '@tenon/core'
import { createPool } from '@tenon/pools'
import { expect, onTestFinished, test } from 'vitest'
import { operandSlice } from '../src/index.ts'
import { addModel, homes } from './support.ts'

test.each(homes)(
  'executions of a driver %s are traced with the operations and inputs of their model',
  async (_, start) => {
    const driver = await start()
    onTestFinished(() => driver.closeAsync())
    const model = addModel([10, 20, 30, 40])
    const prepared = await driver.prepare(model)
    const pool = createPool(4096)
    const messages: CallTrace[] = []
    const calls = tracingChannel<object, CallTrace>('tenon:call')
    const note = (message: CallTrace): void => void messages.push(message)
    const subscribers = { start: () => {}, end: note, asyncStart: () => {}, asyncEnd: note, error: () => {} }
    calls.subscribe(subscribers)
    try {
      const slices = {
        inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [4])],
        outputs: [operandSlice(pool, 1024, 'TENSOR_FLOAT32', [4])],
      }
      prepared.run(slices)
      await prepared.runAsync(slices)
    } finally {
      calls.unsubscribe(subscribers)
    }
    for (const one of [prepared, pool, model]) one[Symbol.dispose]()
    const facts = messages.map(({ kernel, convention, types, isAsync }) => [kernel, convention, types, isAsync])
    const one = ['ADD', 'nnapi', ['TENSOR_FLOAT32[4]']]
    expect(facts).toEqual([
      [...one, false],
      [...one, true],
      [...one, true],
    ])
  },
)
