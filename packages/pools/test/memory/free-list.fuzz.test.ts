import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FreeList, type Span } from '../../src/memory/free-list.ts'

interface Owner {
  readonly address: number
  readonly byteSize: number
}

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('take' as const),
      byteSize: fc.oneof(fc.integer({ min: 1, max: 4096 }), fc.integer({ min: 1, max: 2 ** 33 })),
      alignment: fc.integer({ min: 0, max: 16 }).map((power) => 2 ** power),
    }),
    fc.record({ kind: fc.constant('give' as const), which: fc.nat() }),
  ),
  { maxLength: 120 },
)

/** The spans of one owner, from its first byte on. */
function spansOf(some: Span<Owner>): Span<Owner>[] {
  let first = some
  while (first.before !== undefined) first = first.before
  const all = []
  for (let span: Span<Owner> | undefined = first; span !== undefined; span = span.after) all.push(span)
  return all
}

function checkSpans(spans: readonly Span<Owner>[], owner: Owner): void {
  let end = 0
  let wasFree = false
  for (const span of spans) {
    if (span.offset !== end || span.byteSize <= 0 || span.byteSize % 64 !== 0 || span.owner !== owner)
      throw new Error(`bad span at ${span.offset}`)
    if (wasFree && span.isFree) throw new Error(`free neighbours at ${span.offset}`)
    if (span.dirtyBytes < 0 || span.dirtyStart < span.offset || span.dirtyEnd > span.end)
      throw new Error(`bad dirty range at ${span.offset}`)
    wasFree = span.isFree
    end = span.end
  }
  expect(end).toBe(owner.byteSize)
}

test('taken spans never overlap, neighbours merge, and one span is left at the end', () => {
  fc.assert(
    fc.property(
      steps,
      fc.array(fc.integer({ min: 1, max: 2 ** 28 }), { minLength: 1, maxLength: 3 }),
      (todo, sizes) => {
        const owners = sizes.map((units, i) => ({ address: (i + 1) * 2 ** 40 + 4096 * i, byteSize: units * 64 }))
        const list = new FreeList<Owner>()
        const anchors = owners.map((owner) => list.add(owner, owner.byteSize))
        const used: Span<Owner>[] = []
        for (const step of todo) {
          if (step.kind === 'give') {
            if (used.length === 0) continue
            const [span] = used.splice(step.which % used.length, 1)
            anchors[owners.indexOf(span!.owner)] = list.give(span!)
            continue
          }
          const span = list.take(step.byteSize, step.alignment)
          if (span === undefined) {
            // Everything that is free is too small for the size and the alignment.
            const room = step.byteSize + Math.max(step.alignment, 64)
            const free = owners.flatMap((_, i) => spansOf(anchors[i]!)).filter(({ isFree }) => isFree)
            for (const { byteSize } of free) expect(byteSize).toBeLessThan(room * (9 / 8) + 64)
            continue
          }
          anchors[owners.indexOf(span.owner)] = span
          expect(span.byteSize).toBe(Math.ceil(step.byteSize / 64) * 64)
          expect((span.owner.address + span.offset) % step.alignment).toBe(0)
          for (const other of used)
            if (other.owner === span.owner) expect(other.offset >= span.end || span.offset >= other.end).toBe(true)
          used.push(span)
        }
        owners.forEach((owner, i) => checkSpans(spansOf(anchors[i]!), owner))
        for (const span of used) anchors[owners.indexOf(span.owner)] = list.give(span)
        owners.forEach((owner, i) => {
          const spans = spansOf(anchors[i]!)
          checkSpans(spans, owner)
          expect(spans).toHaveLength(1)
          expect(spans[0]!.isWhole).toBe(true)
          list.remove(spans[0]!)
        })
        expect(list.take(1)).toBeUndefined()
      },
    ),
    { numRuns: 400 },
  )
})

test('a span of exactly the free size is found', () => {
  for (const units of [1, 7, 8, 9, 15, 17, 1000, 1025, 2 ** 20 + 1, 2 ** 40 + 3]) {
    const list = new FreeList<Owner>()
    const owner = { address: 4096, byteSize: units * 64 }
    list.add(owner, owner.byteSize)
    expect(list.take(owner.byteSize + 1)).toBeUndefined()
    expect(list.take(owner.byteSize)?.isWhole).toBe(true)
  }
})

test('dirty bytes of a byte model are all inside the dirty range', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.nat(), fc.integer({ min: 1, max: 300 })), { maxLength: 60 }),
      (todo) => {
        const owner = { address: 4096, byteSize: 4096 }
        const list = new FreeList<Owner>()
        list.add(owner, owner.byteSize)
        const memory = new Uint8Array(owner.byteSize)
        const used: Span<Owner>[] = []
        for (const [takes, which, size] of todo) {
          if (takes) {
            const span = list.take(size)
            if (span === undefined) continue
            memory.fill(0, span.dirtyStart, span.dirtyEnd)
            expect(memory.subarray(span.offset, span.end).every((byte) => byte === 0)).toBe(true)
            memory.fill(1, span.offset, span.end)
            used.push(span)
          } else if (used.length > 0) list.give(used.splice(which % used.length, 1)[0]!)
        }
      },
    ),
  )
})
