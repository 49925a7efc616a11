import { expect, test } from 'vitest'
import { Workers } from '../src/host/workers.ts'

test.runIf(process.platform === 'linux')('the option memory takes the units of the command', async () => {
  await using workers = await Workers.open({ memory: '300MB' })
  expect(workers.health().state).toBe('ready')
})
