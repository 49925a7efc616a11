import { tracingChannel } from 'node:diagnostics_channel'
import type { CallTrace } from '@tenon/core'
import { createPool } from '@tenon/pools'
import { expect, onTestFinished, test } from 'vitest'
import { createFence, operandSlice } from '../src/index.ts'
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
    let launched = 0
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
      const burst = prepared.burst()
      burst.run(slices)
      burst.close()
      const source = createFence()
      const execution = await prepared.runFencedAsync(slices, { waitFor: [source.fence] })
      launched = messages.length
      source.signal()
      await execution.info
      // The call is over behind the outcome.
      await new Promise(setImmediate)
      for (const one of [execution, source.fence]) one.close()
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
      // The execution of the burst, and the launch and the end of the fenced one.
      [...one, false],
      [...one, true],
      [...one, true],
    ])
    expect(launched).toBe(5)
    expect(messages.map(({ error }) => error)).toEqual(messages.map(() => undefined))
  },
)
