import { type Body, PAGES, type Row, separateBody, type Suite } from '@tenon/bench'
import { Library, type NativeAllocator, tensor } from 'tenon'

/** The calls of one iteration, and the words that each reads. */
const [CALLS, WORDS] = [16, 2 ** 18]

/** The part of a library that this benchmark uses, isolated or not. */
interface Callable {
  readonly kernel: (name: string) => { readonly async: unknown }
}

/** Makes the calls at the same time. Each has a result of its own. */
function callsOf(library: Callable, options?: { readonly allocator: NativeAllocator }): Body {
  const call = library.kernel('sum').async
  const x = tensor('int32', [WORDS], undefined, options)
  const results = Array.from({ length: CALLS }, () => ({ into: tensor('int32', [1], undefined, options) }))
  return separateBody('async () => { await Promise.all(results.map((into) => call(x, into))) }', { call, x, results })
}

function row(workers: number): Row {
  return {
    name: `${CALLS} calls at the same time, workers of the isolated library: ${workers}`,
    unit: 'ns',
    plot: { name: 'workers', x: workers, calls: CALLS, ours: 'Tenon, isolated' },
    setup: async () => {
      const [ours, one] = [await Library.isolate(PAGES, { workers }), await Library.isolate(PAGES, { workers: 1 })]
      const here = Library.open(PAGES)
      return {
        ours: callsOf(ours, { allocator: ours.memory }),
        peers: {
          'one worker, in turns with the others': callsOf(one, { allocator: one.memory }),
          'threads of this process': callsOf(here),
        },
        teardown: async () => {
          await ours.closeAsync()
          await one.closeAsync()
          here.close()
        },
      }
    },
  }
}

export const suite: Suite = { package: 'tenon', rows: [1, 2, 3, 4].map(row) }
