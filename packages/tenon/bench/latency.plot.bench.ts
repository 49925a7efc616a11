import { PAGES, type Row, separateBody, type Suite } from '@tenon/bench'
import { Library, tensor, type Tensor } from 'tenon'
import { openRawSum } from '../../core/bench/raw.ts'

const KIB = 1024

function row(kib: number): Row {
  return {
    name: `sum of all words of ${kib < KIB ? `${kib} KiB` : `${kib / KIB} MiB`}`,
    unit: 'ns',
    plot: { name: 'latency', x: kib * KIB },
    setup: async () => {
      const [library, isolated, raw] = [Library.open(PAGES), await Library.isolate(PAGES), await openRawSum()]
      const [ours, far] = [library.kernel('sum'), isolated.kernel('sum')]
      const words = [(kib * KIB) / Int32Array.BYTES_PER_ELEMENT]
      const options = { into: tensor('int32', [1]) }
      const allocator = isolated.memory
      const shared: Tensor = tensor('int32', words, undefined, { allocator })
      return {
        ours: separateBody('() => call(x, options)', { call: ours, x: tensor('int32', words), options }),
        peers: {
          'Node-API addon': separateBody('() => call(x, size)', {
            call: raw.addon,
            x: Buffer.alloc(kib * KIB),
            size: kib * KIB,
          }),
          koffi: separateBody('() => call(x, size)', { call: raw.koffi, x: Buffer.alloc(kib * KIB), size: kib * KIB }),
          'Tenon, isolated worker': separateBody('() => call(x, options)', {
            call: far,
            x: shared,
            options: { into: tensor('int32', [1], undefined, { allocator }) },
          }),
        },
        teardown: async () => {
          library.close()
          await isolated.closeAsync()
        },
      }
    },
  }
}

export const suite: Suite = { package: 'tenon', rows: [1, 4, 16, 64, 256, 1024, 4096, 16_384].map(row) }
