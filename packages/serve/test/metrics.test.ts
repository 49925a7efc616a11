import { eventually } from '@tenon/config/eventually'
import { expect, test } from 'vitest'
import { Metrics } from '../src/service/metrics.ts'
import type { ModelRegistry } from '../src/service/model-registry.ts'
import { ServedModel } from '../src/service/served-model.ts'
import { double } from './models.ts'

test('the times of requests do not keep a model in memory that was unloaded', async () => {
  const none = { all: () => [], entries: () => [] } as unknown as ModelRegistry
  const metrics = new Metrics(none, { connections: () => 0, inFlightBytes: () => 0 })
  const serve = (): WeakRef<ServedModel> => {
    const served = new ServedModel(double)
    metrics.addSuccess(served, 0.5)
    return new WeakRef(served)
  }
  const unloaded = serve()
  await eventually(() => {
    gc!()
    // An error of a comparison would have the model.
    expect(unloaded.deref() === undefined).toBe(true)
  })
  const { text } = await metrics.text()
  expect(text).toMatch(/^tenon_request_seconds_count\{model="double",version="1"\} 1$/m)
  expect((await metrics.text()).text).toBe(text)
})

test('a model that was unloaded has no pending requests', async () => {
  const served = [new ServedModel(double)]
  const models = { all: () => served, entries: () => [] } as unknown as ModelRegistry
  const metrics = new Metrics(models, { connections: () => 0, inFlightBytes: () => 0 })
  const pending = async (): Promise<boolean> =>
    (await metrics.text()).text.includes('nv_inference_pending_request_count{model="double",version="1"}')
  expect(await pending()).toBe(true)
  served.pop()
  expect(await pending()).toBe(false)
})
