import { type Row, separateBody, type Suite } from '@tenon/bench'
import { gcAllocator } from '@tenon/core'
import { kernels, openRawSum } from './raw.ts'

/** The bytes that each call reads, which takes about 100 microseconds. */
const SIZE = 2 ** 20

/** The harness gives Tenon and libuv at least 16 threads. */
function row(calls: number): Row {
  return {
    name: `asynchronous calls at the same time, ${calls} of them`,
    unit: 'ns',
    plot: { name: 'threads', x: calls, calls, ours: 'Tenon, .async()' },
    setup: async () => {
      const [memory, buffer] = [gcAllocator.allocate(SIZE), Buffer.alloc(SIZE)]
      const ours = kernels.function('bench_sum', { result: 'int32', parameters: ['pointer', 'int64'] })
      const { koffiLater, addonLater } = await openRawSum()
      const all = 'async () => { await Promise.all(Array.from({ length: calls }, () => call(memory, size))) }'
      const inTurn = '() => { for (let i = 0; i < calls; i++) call(memory, size) }'
      return {
        ours: separateBody(all, { calls, call: ours.async, memory, size: SIZE }),
        peers: {
          'Node-API addon, napi_async_work': separateBody(all, { calls, call: addonLater, memory: buffer, size: SIZE }),
          'koffi, .async()': separateBody(all, { calls, call: koffiLater, memory: buffer, size: SIZE }),
          'Tenon, one call after the other': separateBody(inTurn, { calls, call: ours, memory, size: SIZE }),
        },
      }
    },
  }
}

export const suite: Suite = { package: '@tenon/core', rows: [1, 2, 4, 8, 16].map(row) }
