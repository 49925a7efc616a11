import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { coreFunctions, liveCallbacks, liveHolds, STATUS } from '@tenon/core/internal'
import { expect, test } from 'vitest'
import { FunctionTarget } from '../src/index.ts'
import { liveObjects } from './kernels.ts'

test('a refused resource leaves no callback, no hold and no object', async () => {
  const run = (): void => {
    using target = FunctionTarget.open('copy', '(x: f32[n]) -> (y: f32[n])', () => {})
    expect(target.name).toBe('copy')
  }
  const counters = (): object => ({ ...liveObjects(), callbacks: liveCallbacks(), holds: liveHolds.count })
  for (const status of ['OUT_OF_MEMORY', 'CLOSED'] as const) {
    const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS[status].value, run, counters)
    expect(refused).toEqual(['tn_callback_create', 'tn_xla_function_open'])
  }
})
