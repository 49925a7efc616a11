import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { tensor } from '@tenon/core'
import { coreFunctions, liveCallbacks, STATUS } from '@tenon/core/internal'
import { expect, it } from 'vitest'
import { legacyFunc, packedFunc } from '../src/index.ts'
import { kernel, live } from './support.ts'

const call = kernel('call')

it.each<[string, () => unknown]>([
  ['a function', () => packedFunc(() => 1).close()],
  ['a function of the older ABI', () => legacyFunc(() => 1).close()],
  ['a function as an argument, beside a tensor', () => void call(() => 1, tensor('f32', [2], [1, 2]))],
])('%s leaves no native object and no callback when a callback of it is refused', async (_, run) => {
  const counters = (): object => ({ ...live(), callbacks: liveCallbacks() })
  for (const status of ['OUT_OF_MEMORY', 'CLOSED'] as const) {
    const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS[status].value, run, counters)
    expect(refused).toContain('tn_callback_create')
  }
})
