import { expectRefusalsLeaveNothing } from '@tenon/config/refusals'
import { coreFunctions, STATUS } from '@tenon/core/internal'
import { createPool } from '@tenon/pools'
import { describe, expect, test } from 'vitest'
import { hasFiles, holdings, homes, settled } from './support.ts'

describe.runIf(hasFiles)('a refused resource leaves no descriptor and no mapping of a driver', () => {
  test.each(homes)('%s', { timeout: 120_000 }, async (_, open) => {
    const run = async (): Promise<void> => {
      using pool = createPool(4096)
      expect(pool.byteSize).toBe(4096)
      const driver = await open()
      try {
        await settled(driver)
      } finally {
        await driver.closeAsync()
      }
    }
    const refused = await expectRefusalsLeaveNothing(coreFunctions(), STATUS.OUT_OF_MEMORY.value, run, holdings)
    expect(refused).toEqual(expect.arrayContaining(['tn_shared_memory_create', 'tn_mapping_open']))
  })
})
