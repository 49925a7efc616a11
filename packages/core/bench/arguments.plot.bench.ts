import { type Row, separateBody, type Suite } from '@tenon/bench'
import koffi from 'koffi'
import { addonCall, fixture, FIXTURE } from './fixture.ts'

/** Returns its first argument. A C function ignores further arguments. */
const IDENTITY = 'fixture_int32'

const raw = koffi.load(FIXTURE)

function row(count: number): Row {
  return {
    name: `pass integers of 64 bits, ${count} of them`,
    unit: 'ns',
    plot: { name: 'arguments', x: count },
    setup: () => {
      const values = Array.from({ length: count }, (_, i) => i + 7)
      const ours = fixture.function(IDENTITY, { result: 'int32', parameters: values.map(() => 'int64') })
      const ofKoffi = raw.func(IDENTITY, 'int32_t', Array<string>(count).fill('int64_t'))
      const addon = addonCall<(...values: readonly number[]) => number>('integers', IDENTITY)
      for (const call of [ours, ofKoffi, addon])
        if (call(...values) !== 7) throw new Error('the function gives a wrong result')
      const source = `() => call(${values.join(', ')})`
      return {
        ours: separateBody(source, { call: ours }),
        peers: {
          'Node-API addon': separateBody(source, { call: addon }),
          koffi: separateBody(source, { call: ofKoffi }),
        },
      }
    },
  }
}

export const suite: Suite = { package: '@tenon/core', rows: [1, 2, 4, 8, 16, 32, 64].map(row) }
