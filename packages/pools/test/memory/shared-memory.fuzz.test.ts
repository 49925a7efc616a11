import fc from 'fast-check'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Segment } from '@tenon/core'
import type { MemoryArena } from '../../src/memory/memory-arena.ts'
import type { MemoryRange } from '../../src/memory/memory-range.ts'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { openDescriptors } from './memory-status.ts'

const MIB = 2 ** 20

/** Memory with `byteSize` bytes of `mark`. */
interface Entry {
  readonly mark: number
  readonly byteSize: number
  readonly segment?: Segment
  /** A raw view, which keeps the memory without the segment. */
  readonly view?: Uint8Array
  readonly range?: MemoryRange
  readonly arena?: MemoryArena
}

const bytesOf = ({ segment, view, range, byteSize }: Entry): Uint8Array => {
  if (view !== undefined) return view
  if (range !== undefined) return range.chunk.bytes.subarray(range.offset, range.offset + byteSize)
  return segment!.block.bytes.subarray(segment!.base, segment!.base + byteSize)
}

const isFilledWith = (bytes: Uint8Array, value: number): boolean => bytes.every((byte) => byte === value)

const action = fc.record({
  kind: fc.constantFrom('allocate', 'view', 'take', 'arena', 'in arena', 'drop', 'drop', 'collect'),
  byteSize: fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: 3 * MIB })),
  which: fc.nat(),
  alignment: fc.integer({ min: 0, max: 13 }).map((power) => 2 ** power),
})

const fill = (entry: Entry): Entry => {
  bytesOf(entry).fill(entry.mark)
  return entry
}

describe.runIf(process.platform === 'linux')('SharedMemory', () => {
  test.each([false, true])(
    'live memory never overlaps, and fresh memory is zeroed, with guard: %s',
    { timeout: 60_000 },
    async (guard) => {
      const descriptors = openDescriptors()
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
          const memory = SharedMemory.open({ chunk: '2 MiB', limit: '64 MiB', guard })
          let entries: Entry[] = []
          const arenas: MemoryArena[] = []
          let mark = 0
          const add = (entry: Omit<Entry, 'mark'>, isFresh: boolean): void => {
            mark = (mark % 255) + 1
            if (isFresh) expect(isFilledWith(bytesOf({ ...entry, mark }), 0)).toBe(true)
            entries.push(fill({ ...entry, mark }))
          }
          for (const { kind, byteSize, which, alignment } of actions) {
            if (entries.reduce((sum, each) => sum + each.byteSize, 0) > 40 * MIB) break
            if (kind === 'allocate') add({ byteSize, segment: memory.allocate(byteSize, alignment) }, true)
            else if (kind === 'view') {
              const view = memory.allocate(byteSize, alignment).view()
              add({ byteSize, view: new Uint8Array(view.buffer, view.byteOffset, byteSize) }, true)
            } else if (kind === 'take') add({ byteSize, range: memory.take(byteSize, alignment) }, false)
            else if (kind === 'arena') arenas.push(memory.arena({ byteSize: byteSize + 1 }))
            else if (kind === 'in arena' && arenas.length > 0) {
              const arena = arenas[which % arenas.length]!
              add({ byteSize, arena, segment: arena.allocate(byteSize, alignment) }, true)
            } else if (kind === 'drop' && entries.length > 0) {
              const [dropped] = entries.splice(which % entries.length, 1)
              if (dropped!.range !== undefined) memory.give(dropped!.range)
              else if (dropped!.arena !== undefined) {
                dropped!.arena.close()
                arenas.splice(arenas.indexOf(dropped!.arena), 1)
                entries = entries.filter(({ arena }) => arena !== dropped!.arena)
              }
            } else if (kind === 'collect') {
              globalThis.gc!()
              await nextTurn()
            }
            for (const entry of entries) expect(isFilledWith(bytesOf(entry), entry.mark)).toBe(true)
          }
          for (const arena of arenas) arena.close()
          memory.close()
          for (const { view } of entries) if (view !== undefined) expect(view.length).toBe(0)
        }),
        { numRuns: 40 },
      )
      expect(openDescriptors()).toBe(descriptors)
    },
  )
})
