import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { coreFunctions, STATUS } from '@tenon/core/internal'
import { poolUsage } from '@tenon/pools'
import { expect, test } from 'vitest'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT } from './faulty.ts'
import { usage } from './support.ts'

test(
  'a refused resource leaves no descriptor, no mapping and no process of a worker',
  { timeout: 60_000 },
  async () => {
    const run = async (): Promise<void> => {
      using bench = new Bench()
      await using workers = await Workers.open({ restart: { limit: 0 } })
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
      expect(await workers.runAsync(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    }
    const counters = (): object => ({ ...usage(), ...poolUsage() })
    for (const status of ['OUT_OF_MEMORY', 'SYSTEM'] as const) {
      const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS[status].value, run, counters)
      expect(refused).toEqual(
        expect.arrayContaining(['tn_host_start', 'tn_host_send_memory', 'tn_shared_memory_create']),
      )
    }
  },
)
