import type { Suite } from '@tenon/bench'
import { MemoryLayout } from '@tenon/scope'
import { memory, overAll, overIndexes } from './support.ts'

/** The number of elements that a row reads in order, repeatedly. */
const COUNT = 1024
const SIZE = COUNT * 4

const { int32 } = MemoryLayout
const handle = MemoryLayout.varHandle<number>(MemoryLayout.sequence(int32, COUNT), MemoryLayout.element())
const Cell = MemoryLayout.accessor(MemoryLayout.struct({ value: int32 }))

function sumOf(view: DataView): number {
  let sum = 0
  for (let at = 0; at < SIZE; at += 4) sum = (sum + view.getInt32(at, true)) | 0
  return sum
}

/** The costs of the ways to read an element, each with memory of its own. */
export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'read int32, in order, the shapes of it',
      unit: 'ns',
      setup: () => {
        const { segments, teardown } = memory(SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE)
        const [one, unaligned, laidOut, indexed, handled, structs, slices, viewed] = segments
        return {
          ours: overIndexes(COUNT, (i) => one.getInt32(i * 4)),
          peers: {
            getInt32Unaligned: overIndexes(COUNT, (i) => unaligned.getInt32Unaligned(i * 4)),
            'get(layout)': overIndexes(COUNT, (i) => laidOut.get(int32, i * 4)),
            getAtIndex: overIndexes(COUNT, (i) => indexed.getAtIndex(int32, i)),
            'a var handle': overIndexes(COUNT, (i) => handle.get(handled, 0, i)),
            'a struct accessor, each': overAll(COUNT, () => {
              let sum = 0
              for (const cell of Cell.each(structs)) sum = (sum + cell.value) | 0
              return sum
            }),
            elements: overAll(COUNT, () => {
              let sum = 0
              for (const slice of slices.elements(int32)) sum = (sum + slice.getInt32(0)) | 0
              return sum
            }),
            withView: overAll(COUNT, () => viewed.withView(sumOf)),
          },
          teardown,
        }
      },
    },
  ],
} satisfies Suite
