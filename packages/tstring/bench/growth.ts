import type { GrowthSuite } from '@tenon/bench'
import { StringTensor } from '@tenon/tstring'

const COUNTS = [100, 1000, 10_000, 100_000]

export const suite = {
  package: '@tenon/tstring',
  rows: [
    {
      name: 'strings of a tensor that is made',
      counts: COUNTS,
      open: (count) => {
        const strings = Array.from({ length: count }, (_, i) => `string ${i}`)
        return { run: () => StringTensor.from(strings, { storage: 'packed' }) }
      },
    },
    {
      name: 'strings of a tensor that are read',
      counts: COUNTS,
      open: (count) => {
        const tensor = StringTensor.from(
          Array.from({ length: count }, (_, i) => `string ${i}`),
          { storage: 'packed' },
        )
        return { run: () => tensor.toArray() }
      },
    },
    {
      name: 'bytes of one string',
      counts: [1000, 10_000, 100_000, 1_000_000],
      open: (count) => {
        const strings = ['x'.repeat(count)]
        return { run: () => StringTensor.from(strings, { storage: 'packed' }) }
      },
    },
  ],
} satisfies GrowthSuite
