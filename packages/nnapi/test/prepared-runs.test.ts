import { afterAll, expect, test } from 'vitest'
import { buildModel, localDriver } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { expectFailure } from './support.ts'

const driver = localDriver()
afterAll(() => driver.closeAsync())

test('a prepared MAX_POOL_2D of NCHW images runs, and refuses operands of another rank', async () => {
  using model = buildModel((g) => {
    const number = (value: number) => g.scalar('INT32', value)
    const image = g.input('TENSOR_FLOAT32', [1, 2, 4, 4])
    const window = [number(1), number(2), number(2), number(2), number(2), number(0), g.scalar('BOOL', true)]
    const output = { type: 'TENSOR_FLOAT32', dimensions: [1, 2, 2, 2] } as const
    g.output(g.operation('MAX_POOL_2D', [image, ...window], output))
  })
  using prepared = await driver.prepare(model)
  using pool = createPool(1024)
  const image = Float32Array.from({ length: 32 }, (_, i) => i)
  pool.write(0, image)
  const outputs = [pool.slice(512, 32)]

  // The pads are SAME: the windows begin at 0 and 2. Channels follow each other, so each output is the end of its window.
  prepared.run({ inputs: [pool.slice(0, 128, { dimensions: [1, 2, 4, 4] })], outputs })
  expect([...new Float32Array(pool.read(512, 32).buffer)]).toEqual([5, 7, 13, 15, 21, 23, 29, 31])

  await expectFailure(
    () => prepared.run({ inputs: [pool.slice(0, 128, { dimensions: [32] })], outputs }),
    'INVALID_ARGUMENT',
    'Q6',
  )
})
