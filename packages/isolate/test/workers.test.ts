import { expect, test } from 'vitest'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'

test('a call runs in a worker', async () => {
  const bench = new Bench()
  await using workers = await Workers.open()
  expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
  expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
})
