import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import * as pools from '@tenon/pools'
import { afterAll } from 'vitest'
import * as hidl from '../src/hidl.ts'
import * as nnapi from '../src/index.ts'
import { addModel } from './support.ts'

const driver = nnapi.localDriver()
const model = addModel([1, 2])
const prepared = await driver.prepare(model)
afterAll(async () => {
  await driver.closeAsync()
  model[Symbol.dispose]()
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': core,
    '@tenon/pools': pools,
    // Examples name drivers as users have them.
    '@tenon/nnapi': { ...nnapi, connectDriver: () => nnapi.spawnDriver(), serveDriver: () => {} },
    '@tenon/nnapi/hidl': hidl,
  },
  context: () => ({
    driver,
    model,
    prepared,
    request: { inputs: [], outputs: [], pools: [] },
    negate: { plan: () => ({ dimensions: [] }) },
    console: { error() {} },
  }),
})
