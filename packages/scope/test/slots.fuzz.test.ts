import { ScopeClosedError } from '@tenon/core'
import fc from 'fast-check'
import { closeSync, openSync, read, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { trimChunks } from '../src/scope/chunk-pool.ts'
import { trimSlots } from '../src/scope/slot.ts'
import { fuzzBudget, fuzzSeconds } from './support/fuzz-budget.ts'

type Scope = ReturnType<typeof NativeScope.ofConfined> | ReturnType<typeof ResourceScope.ofConfined>

/** A scope all of whose memory has one value. */
interface Owner {
  readonly scope: Scope
  readonly value: number
  readonly segments: MemorySegment[]
  readonly buffers: ArrayBuffer[]
}

const step = fc.record({
  operation: fc.constantFrom(
    ...['open', 'open', 'open', 'allocate', 'allocate', 'own', 'view', 'array', 'with', 'transfer'],
    ...['handoff', 'close', 'close', 'close', 'closeMany', 'trim', 'heir'],
  ),
  target: fc.nat(1000),
  size: fc.oneof({ weight: 6, arbitrary: fc.nat(64) }, fc.nat(600), fc.nat(5000), fc.nat(40_000)),
})

/** Checks that the memory has no other bytes than zeros and those of its owner. */
function checkBytes(buffer: ArrayBufferLike, value: number): void {
  const stranger = new Uint8Array(buffer).find((byte) => byte !== 0 && byte !== value)
  if (stranger !== undefined) throw new Error(`a raw view of scope ${value} shows ${stranger}`)
}

test(
  'many scopes that are opened, exposed, moved and closed in any order never see the bytes of each other',
  { timeout: 60_000 + fuzzSeconds * 1000 },
  () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 300 }), (steps) => {
        const before = ResourceScope.stats()
        let owners: Owner[] = []
        let serial = 0
        const dead: MemorySegment[] = []
        const moved: { buffer: ArrayBuffer; value: number }[] = []
        const add = (scope: Scope, value: number, segments: MemorySegment[] = []): void => {
          owners.push({ scope, value, segments, buffers: [] })
        }
        const end = (owner: Owner): void => {
          owners = owners.filter((other) => other !== owner)
          dead.push(...owner.segments)
        }
        const close = (owner: Owner): void => {
          end(owner)
          owner.scope.close()
          for (const buffer of owner.buffers) expect(buffer.byteLength).toBe(0)
        }

        for (const { operation, target, size } of steps) {
          const owner = owners[target % Math.max(owners.length, 1)]
          if (operation === 'open' || owner === undefined) {
            if (owners.length < 250) add(NativeScope.ofConfined(), (serial++ % 255) + 1)
          } else if (operation === 'allocate' || operation === 'own' || operation === 'heir') {
            const { scope, value, segments } = owner
            const from = operation === 'heir' ? (Object.create(scope) as Scope) : scope
            const segment =
              operation === 'own' || !('allocate' in from)
                ? MemorySegment.allocateNative(size, 8, scope)
                : from.allocate(size, 8)
            if (segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(size))) !== -1) throw new Error('not zeroed')
            segments.push(segment.fill(value))
          } else if (operation === 'closeMany') {
            for (const one of owners.filter((_, i) => i % 3 !== target % 3)) close(one)
          } else if (operation === 'trim') {
            trimChunks()
            trimSlots()
          } else if (operation === 'close') {
            close(owner)
          } else if (operation === 'handoff') {
            const { scope, value, segments } = owner
            if (owner.buffers.length > 0 && owner.buffers.some(({ byteLength }) => byteLength === 0)) continue
            const addresses = segments.map(({ address }) => address)
            const attached = ResourceScope.attach(scope.handoff(segments))
            end(owner)
            expect(attached.segments.map(({ address }) => address)).toEqual(addresses)
            add(attached.scope as Scope, value, attached.segments)
          } else {
            const segment = owner.segments[target % Math.max(owner.segments.length, 1)]
            if (segment === undefined || owner.buffers.some(({ byteLength }) => byteLength === 0)) continue
            const { buffer } =
              operation === 'array'
                ? segment.unsafeView(Uint8Array)
                : operation === 'with'
                  ? segment.withView((view) => view)
                  : segment.view()
            checkBytes(buffer, owner.value)
            if (operation === 'transfer') {
              // The scope has lost its memory, and the user has it for good.
              moved.push({ buffer: (buffer as ArrayBuffer).transfer(), value: owner.value })
              end(owner)
              owner.scope.close()
            } else {
              owner.buffers.push(buffer as ArrayBuffer)
            }
          }
        }

        for (const { segments, value, buffers } of owners) {
          for (const segment of segments) {
            const whole = MemorySegment.ofBuffer(new Uint8Array(segment.byteSize).fill(value))
            if (segment.mismatch(whole) !== -1) throw new Error(`scope ${value} was overwritten`)
          }
          for (const buffer of buffers) checkBytes(buffer, value)
        }
        for (const { buffer, value } of moved) checkBytes(buffer, value)
        for (const segment of dead) expect(() => segment.fill(0)).toThrow(ScopeClosedError)
        for (const owner of owners) close(owner)
        const { openScopes, liveBytes } = ResourceScope.stats()
        expect([openScopes, liveBytes]).toEqual([before.openScopes, before.liveBytes])
      }),
      fuzzBudget,
    )
  },
)

test('files that are read into views of scopes that close do not reach the memory of later scopes', async () => {
  const path = join(tmpdir(), `tenon-slots-${process.pid}`)
  writeFileSync(path, new Uint8Array(512).fill(0xee))
  const descriptor = openSync(path, 'r')
  const readLater = promisify(read)
  try {
    for (let round = 0; round < 30; round++) {
      const scopes = Array.from({ length: 40 }, () => NativeScope.ofConfined())
      const reads = scopes.map((scope) => readLater(descriptor, scope.allocate(256).view(), 0, 256, 0))
      for (const scope of scopes) scope.close()
      const later = Array.from({ length: 80 }, () => NativeScope.ofConfined())
      const segments = later.map((scope, i) => scope.allocate(512).fill(i + 1))
      await Promise.allSettled(reads)
      for (const [i, segment] of segments.entries())
        expect(segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(512).fill(i + 1)))).toBe(-1)
      for (const scope of later) scope.close()
    }
  } finally {
    closeSync(descriptor)
  }
})
