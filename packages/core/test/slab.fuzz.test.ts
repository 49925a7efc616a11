import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gcAllocator, type Segment } from '@tenon/core'
import { checkUsable } from '@tenon/core/internal'
import { fuzzBudget } from './fuzz-budget.ts'

const { property: runs, test: options } = fuzzBudget(1)

/** Memory with `byteSize` bytes of `mark`, reached by the segment, a view of it, or bytes whose buffer was transferred. */
interface Entry {
  readonly mark: number
  readonly byteSize: number
  segment: Segment | undefined
  view: DataView | undefined
  moved: Uint8Array | undefined
}

const actions = [
  'allocate',
  'allocate',
  'allocate',
  'view',
  'transfer',
  'keep the view',
  'forget',
  'fill the rest',
] as const

const bytesOf = ({ buffer, byteOffset, byteLength }: DataView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

function check({ mark, byteSize, segment, view, moved }: Entry): void {
  const isMarked = (bytes: Uint8Array): boolean => bytes.length === byteSize && bytes.every((byte) => byte === mark)
  if (moved !== undefined) {
    expect(isMarked(moved)).toBe(true)
    if (segment !== undefined) expect(() => checkUsable(segment.block)).toThrow(/detached/)
    return
  }
  if (view !== undefined) expect(isMarked(bytesOf(view))).toBe(true)
  if (segment === undefined) return
  const { block, base } = segment
  checkUsable(block)
  expect(isMarked(block.bytes.subarray(base, base + byteSize))).toBe(true)
}

/** Moves the memory of a view to another buffer. */
function transfer(entry: Entry): void {
  const view = (entry.view ??= entry.segment?.view())
  if (view === undefined || entry.moved !== undefined) return
  const { byteOffset, byteLength } = view
  entry.moved = new Uint8Array((view.buffer as ArrayBuffer).transfer(), byteOffset, byteLength)
}

test('every memory has its own bytes, whatever is viewed, transferred and collected', options, () => {
  const step = fc.tuple(fc.constantFrom(...actions), fc.nat(), fc.oneof(fc.integer({ min: 0, max: 80 }), fc.nat(5000)))
  let round = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
      const entries: Entry[] = []
      let mark = 0
      for (const [action, choice, byteSize] of steps) {
        const entry = entries[choice % entries.length]
        if (action === 'allocate' || entry === undefined) {
          mark = (mark % 255) + 1
          const segment = gcAllocator.allocate(byteSize, 2 ** (choice % 8))
          const { block, base } = segment
          expect(block.bytes.subarray(base, base + byteSize).every((byte) => byte === 0)).toBe(true)
          block.bytes.fill(mark, base, base + byteSize)
          entries.push({ mark, byteSize, segment, view: undefined, moved: undefined })
        } else if (action === 'view') {
          if (entry.moved === undefined) entry.view = entry.segment?.view() ?? entry.view
        } else if (action === 'transfer') {
          transfer(entry)
        } else if (action === 'keep the view') {
          if (entry.moved === undefined) entry.view ??= entry.segment?.view()
          entry.segment = undefined
        } else if (action === 'forget') {
          entries.splice(entries.indexOf(entry), 1)
        } else {
          // A raw view reaches all bytes of its buffer, which may be those of its memory and unused ones.
          const view = entry.moved ?? entry.view
          if (view === undefined) continue
          const all = new Uint8Array(view.buffer)
          all.fill(0xaa, 0, view.byteOffset)
          all.fill(0xaa, view.byteOffset + entry.byteSize)
        }
      }
      if (++round % 20 === 0) globalThis.gc?.()
      entries.forEach(check)
    }),
    runs,
  )
})
