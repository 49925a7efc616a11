import type { GrowthRow, GrowthSuite } from '@tenon/bench'
import { fixture } from './fixture.ts'

/** Returns its first argument. A C function ignores further arguments. */
const IDENTITY = 'fixture_int32'

function row(name: string, options: { readonly critical?: boolean }): GrowthRow {
  return {
    name,
    counts: [4, 16, 64],
    open: (count) => {
      const values = Array.from({ length: count }, (_, i) => i)
      const parameters = values.map(() => 'int64' as const)
      const call = fixture.function(IDENTITY, { result: 'int32', parameters }, options)
      return { run: () => call(...values) }
    },
  }
}

export const suite = {
  package: '@tenon/core',
  rows: [row('arguments of a function of C', {}), row('arguments of a critical function of C', { critical: true })],
} satisfies GrowthSuite
