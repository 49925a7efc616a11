import type { GrowthSuite } from '@tenon/bench'
import { createPool } from '../src/memory/create-pool.ts'

export const suite = {
  package: '@tenon/pools',
  rows: [
    {
      name: 'pools that are made and closed',
      counts: [1, 10, 100, 1000],
      open: (count) => ({
        run: () => {
          const pools = Array.from({ length: count }, () => createPool(4096))
          for (const pool of pools) pool.close()
        },
      }),
    },
  ],
} satisfies GrowthSuite
