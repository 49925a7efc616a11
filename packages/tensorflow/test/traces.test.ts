import { tracingChannel } from 'node:diagnostics_channel'
import { tensor, type CallTrace } from '@tenon/core'
import { expect, onTestFinished, test } from 'vitest'
import { openTestKernel, valuesOf } from './open-kernels.ts'

/** Notes the calls that have ended, until the test ends. */
function record(event: 'end' | 'asyncEnd'): CallTrace[] {
  const messages: CallTrace[] = []
  const channel = tracingChannel<object, CallTrace>('tenon:call')[event]
  const note = (message: unknown): void => void messages.push(message as CallTrace)
  channel.subscribe(note)
  onTestFinished(() => void channel.unsubscribe(note))
  return messages
}

test('the calls of a kernel of TensorFlow are traced, with attributes and without', () => {
  const scale = openTestKernel('Scale')
  const messages = record('end')
  expect(valuesOf(scale(tensor([1, -2])))).toEqual([2, -4])
  expect(valuesOf(scale(tensor([1, -2])))).toEqual([2, -4])
  expect(valuesOf(scale(tensor([1, 2]), { factor: 3, offsets: [1, 2] }))).toEqual([6, 9])
  expect(messages.map(({ kernel, convention, types }) => [kernel, convention, types.map(String)])).toEqual([
    ['Scale', 'tensorflow', ['float32[2]']],
    ['Scale', 'tensorflow', ['float32[2]']],
    ['Scale', 'tensorflow', ['float32[2]', 'object']],
  ])
  for (const { runTime, worker } of messages) expect([runTime > 0, worker]).toEqual([true, undefined])
})

test('an asynchronous call of a kernel of TensorFlow is traced until it settles', async () => {
  const scale = openTestKernel('Scale')
  const messages = record('asyncEnd')
  const result = scale.async(tensor([1, -2]))
  expect(messages).toEqual([])
  await result
  expect(messages).toMatchObject([{ kernel: 'Scale', isAsync: true, error: undefined }])
})
