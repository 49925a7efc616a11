import { packageFlags } from '@tenon/config/package-flags'
import { ScopeClosedError } from '@tenon/core'
import { addressOf } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { beforeEach, describe, expect, test } from 'vitest'
import { isInstrumented } from '../src/diagnostics/debug.ts'
import { type HandoffToken, MemoryLayout, MemorySegment, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { trimChunks } from '../src/scope/chunk-pool.ts'
import { SLOT_SIZE, takeSlot } from '../src/scope/slot.ts'
import { nextMessage, packageDirectory, startWorker } from './support/worker.ts'

type Arena = ReturnType<typeof NativeScope.ofConfined>

/** Arenas with a segment each, filled with a value of its own. The segments of some lie side by side. */
function filled(count: number): { scope: Arena; segment: MemorySegment; value: number }[] {
  return Array.from({ length: count }, (_, i) => {
    const scope = NativeScope.ofConfined()
    const value = (i % 255) + 1
    return { scope, segment: scope.allocate(16).fill(value), value }
  })
}

const hasSlots = !isInstrumented && takeSlot() !== undefined

if (hasSlots)
  describe('scopes that share a slab', () => {
    // An arena that opens takes a pooled chunk, if there is one, and otherwise a slot.
    beforeEach(trimChunks)

    test('have memory side by side', () => {
      const all = filled(100)
      const addresses = all.map(({ segment }) => Number(segment.address)).toSorted((a, b) => a - b)
      const gaps = addresses.slice(1).filter((address, i) => addresses.at(i) === address - SLOT_SIZE)
      expect(gaps.length).toBeGreaterThan(80)
      for (const { scope } of all) scope.close()
    })

    test('do not show the bytes of others in raw views, also when they are transferred, cloned or posted', async () => {
      const all = filled(200)
      const { scope, segment } = all[100]!
      const view = segment.view()
      expect(view.buffer.byteLength).toBe(SLOT_SIZE)
      expect([...new Uint8Array(view.buffer, 16)].every((byte) => byte === 0)).toBe(true)
      expect(segment.unsafeView(Uint8Array).buffer).toBe(view.buffer)
      expect(segment.withView(({ buffer }) => buffer)).toBe(view.buffer)
      expect(() => structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] })).toThrow(/transfer/)
      const copy = structuredClone(view)
      expect(copy.buffer.byteLength).toBe(SLOT_SIZE)
      const { port1, port2 } = new MessageChannel()
      port1.postMessage(view)
      const [posted] = (await once(port2, 'message')) as [DataView]
      port1.close()
      expect([posted.buffer.byteLength, posted.getUint8(0)]).toEqual([SLOT_SIZE, 101])
      const moved = (view.buffer as ArrayBuffer).transfer()
      expect(addressOf(moved)).toBe(Number(segment.address))
      expect(() => segment.getInt32(0)).toThrow(/detached|TypeError/)
      for (const { segment: other, value } of all) if (other !== segment) expect(other.getUint8(15)).toBe(value)
      scope.close()
      // The user still has the memory, so no other arena gets it.
      for (const { segment: fresh } of filled(1000)) expect(fresh.address).not.toBe(segment.address)
      expect([moved.byteLength, new Uint8Array(moved)[0]]).toEqual([SLOT_SIZE, 101])
      for (const one of all) one.scope[Symbol.dispose]()
    })

    test('see zeros, and segments of the earlier scope stay dead', () => {
      const first = filled(300)
      for (const { scope } of first) scope.close()
      const second = filled(300)
      const addresses = new Set(first.map(({ segment }) => segment.address))
      expect(second.some(({ segment }) => addresses.has(segment.address))).toBe(true)
      for (const { segment, value } of second) {
        expect(segment.getUint8(0)).toBe(value)
        expect(segment.reinterpret(SLOT_SIZE).asSlice(16).toArray(MemoryLayout.uint8)).toEqual(
          new Uint8Array(SLOT_SIZE - 16),
        )
      }
      for (const { segment } of first) {
        expect(() => segment.getUint8(0)).toThrow(ScopeClosedError)
        expect(() => segment.setInt32(0, 1)).toThrow(ScopeClosedError)
        expect(() => segment.view()).toThrow(ScopeClosedError)
        expect(() => segment.atomicStore('int32', 0, 1)).toThrow(ScopeClosedError)
        expect(() => segment.reinterpret(SLOT_SIZE)).toThrow(ScopeClosedError)
      }
      for (const { scope } of second) scope.close()
    })

    test('never lend memory again of which a raw view was handed out', () => {
      const exposed = filled(150)
      const seen = exposed.map(({ segment }, i) => (i % 2 === 0 ? segment.view() : segment.unsafeView(Uint8Array)))
      const addresses = new Set(exposed.map(({ segment }) => segment.address))
      for (const { scope } of exposed) scope.close()
      for (const view of seen)
        expect([view.buffer.byteLength, (view.buffer as ArrayBuffer).detached]).toEqual([0, true])
      const later = filled(500)
      for (const { segment } of later) expect(addresses.has(segment.address)).toBe(false)
      for (const { scope } of later) scope.close()
    })

    test('answer for dead segments whose slab was given back', () => {
      const all = filled(10_000)
      const untouched = all.map(({ scope }) => scope.allocate(8))
      for (const { scope } of all) scope.close()
      for (const segment of [...untouched, ...all.map(({ segment: of }) => of)]) {
        expect([segment.byteSize > 0, segment.isAccessibleBy(-1), segment.isHeap, segment.isMapped]).toEqual([
          true,
          false,
          false,
          false,
        ])
        expect(segment.asSlice(4).address - segment.address).toBe(4n)
        expect(String(segment)).toContain('MemorySegment')
        expect(() => segment.getInt8(0)).toThrow(ScopeClosedError)
      }
    })

    test('cannot be reinterpreted beyond their slot', () => {
      using scope = NativeScope.ofConfined()
      using neighbour = NativeScope.ofConfined()
      const segment = scope.allocate(8)
      neighbour.allocate(8)
      for (const size of [SLOT_SIZE + 1, 4096, 2 ** 30])
        expect(() => segment.reinterpret(size)).toThrow(/must be at most 512, because memory of other owners follows/)
      expect(segment.reinterpret(SLOT_SIZE).byteSize).toBe(SLOT_SIZE)
    })

    test('atomics use the memory of the segment before and after a raw view was handed out', () => {
      const [one, other] = filled(2) as [ReturnType<typeof filled>[0], ReturnType<typeof filled>[0]]
      one.segment.atomicStore('int32', 4, 7)
      const view = one.segment.view()
      one.segment.atomicUpdate('int32', 4, 'add', 1)
      expect([view.getInt32(4, true), one.segment.atomicLoad('int32', 4)]).toEqual([8, 8])
      expect(other.segment.atomicLoad('uint8', 4)).toBe(other.value)
      one.scope.close()
      other.scope.close()
    })

    test('grow beyond their slot, and keep what they have written', () => {
      const scopes = Array.from({ length: 50 }, () => NativeScope.ofConfined())
      const segments = scopes.flatMap((scope, i) =>
        [100, 100, 100, 100, 100, 100, 3000, 20_000].map((size) => scope.allocate(size).fill(i + 1)),
      )
      segments.forEach((segment, i) => {
        const value = Math.floor(i / 8) + 1
        expect([segment.getUint8(0), segment.getUint8(segment.byteSize - 1)]).toEqual([value, value])
      })
      for (const scope of scopes) scope.close()
    })

    test('handoff() moves a slot, its neighbours stay, and the address stays the same', async () => {
      const all = filled(100)
      const worker = startWorker(`
        parentPort.on('message', (token) => {
          const { scope: moved, segments } = scope.ResourceScope.attach(token)
          const { buffer } = segments[0].view()
          parentPort.postMessage([segments[0].address, segments[0].getUint8(15), segments[1].getString(0), buffer.byteLength])
          moved.close()
        })
        parentPort.postMessage('ready')`)
      await nextMessage(worker)
      for (const { scope, segment, value } of all.filter((_, i) => i % 3 === 0)) {
        const text = toCString('moved', scope)
        const token = scope.handoff([segment, text])
        worker.postMessage(token, token.transfer as ArrayBuffer[])
        expect(await nextMessage(worker)).toEqual([segment.address, value, 'moved', SLOT_SIZE])
        expect(() => segment.getUint8(0)).toThrow(ScopeClosedError)
      }
      for (const { scope, segment, value } of all.filter((_, i) => i % 3 !== 0)) {
        expect(segment.getUint8(15)).toBe(value)
        scope.close()
      }
      await worker.terminate()
    })

    test('a managed scope runs its actions only after the raw views of its slot are collected', async () => {
      const runs: number[] = []
      const open = (): DataView => {
        const scope = NativeScope.ofConfined({ managed: true })
        const view = scope.allocate(16).view()
        scope.addCloseAction(() => runs.push(1))
        return view
      }
      const collect = async (): Promise<void> => {
        for (let i = 0; i < 10; i++) {
          globalThis.gc!()
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }
      let view: DataView | undefined = open()
      await collect()
      expect([runs.length, view.getInt32(0)]).toEqual([0, 0])
      view = undefined
      await collect()
      expect(runs.length).toBe(1)
    })
  })

test('memory of a worker that has ended stays valid in the thread that received it', async () => {
  const worker = startWorker(`
    const open = () => scope.NativeScope.ofConfined()
    const segments = Array.from({ length: 50 }, (_, i) => open().allocate(64).fill(i + 1))
    const buffers = segments.map((segment) => segment.view().buffer.transfer())
    const tokens = Array.from({ length: 50 }, (_, i) => {
      const arena = open()
      return arena.handoff([arena.allocate(64).fill(i + 1)])
    })
    parentPort.postMessage({ buffers, tokens }, [...buffers, ...tokens.flatMap(({ transfer }) => transfer)])
  `)
  const ended = once(worker, 'exit')
  const { buffers, tokens } = await nextMessage<{ buffers: ArrayBuffer[]; tokens: HandoffToken[] }>(worker)
  await worker.terminate()
  await ended
  // Memory that was freed would be taken by these.
  const others = Array.from({ length: 500 }, () => new Uint8Array(new ArrayBuffer(600)).fill(0xee))
  expect(others.length).toBe(500)
  buffers.forEach((buffer, i) => {
    const bytes = new Set(new Uint8Array(buffer))
    bytes.delete(0)
    expect([...bytes]).toEqual([i + 1])
  })
  for (const [i, token] of tokens.entries()) {
    const { scope, segments } = ResourceScope.attach(token)
    expect(segments[0]!.mismatch(MemorySegment.ofBuffer(new Uint8Array(64).fill(i + 1)))).toBe(-1)
    scope.close()
  }
})

describe('memory for later arenas', () => {
  const run = async (code: string): Promise<string> => {
    const result = await runScript(
      `import { NativeScope, ResourceScope } from '@tenon/scope'
       const settle = async () => { for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 10)) } }
       const idle = async () => { await new Promise((resolve) => setTimeout(resolve, 2500)); await settle() }
       const { rss } = process.memoryUsage
       ${code}`,
      {
        cwd: packageDirectory,
        nodeOptions: [...packageFlags, '--expose-gc', '--disable-warning=ExperimentalWarning'],
        timeout: 60_000,
      },
    )
    expect(result.code, result.stderr).toBe(0)
    return result.stdout.trim()
  }

  // Instrumented arenas have memory of their own, which no later arena uses.
  if (!isInstrumented)
    test('is given back when no arena has been closed for a while', { timeout: 60_000 }, async () => {
      const printed = await run(`
        const cycle = () => {
          const scopes = Array.from({ length: 1000 }, () => NativeScope.ofConfined())
          for (const [i, scope] of scopes.entries()) { scope.allocate(16); if (i < 5) for (let k = 0; k < 100; k++) scope.allocate(10_000) }
          for (const scope of scopes) scope.close()
        }
        cycle()
        console.log(ResourceScope.stats().pooledBytes > 0)
        await idle()
        console.log(ResourceScope.stats().pooledBytes)
        cycle()
        const kept = NativeScope.ofConfined(), segment = kept.allocate(16).fill(7)
        await idle()
        cycle()
        console.log(segment.getUint8(15))`)
      expect(printed).toBe('true\n0\n7')
    })

  test('does not keep the process alive', async () => {
    const start = performance.now()
    await run(
      `NativeScope.ofConfined().close(); setTimeout(() => { console.error('alive'); process.exit(1) }, 900_000).unref()`,
    )
    expect(performance.now() - start).toBeLessThan(30_000)
  })

  if (!isInstrumented)
    test('of 10,000 arenas takes little room, and returns to the system', { timeout: 60_000 }, async () => {
      const printed = await run(`
        const open = (count) => Array.from({ length: count }, () => { const scope = NativeScope.ofConfined(); scope.allocate(16); return scope })
        // As many as below, because the heaps of JavaScript and of the C library keep some of what they once had.
        for (let i = 0; i < 2; i++) for (const scope of open(10_000)) scope.close()
        await idle()
        const before = rss()
        let scopes = open(10_000)
        const each = (rss() - before) / scopes.length
        for (const scope of scopes) scope.close()
        scopes = undefined
        await idle()
        console.log(JSON.stringify([each, rss() / before]))`)
      const [each, ratio] = JSON.parse(printed) as [number, number]
      expect(each).toBeLessThan(2048)
      expect(ratio).toBeLessThan(1.1)
    })

  if (!isInstrumented)
    test('of arenas whose first allocation is larger than a slot is about as large as the allocation', async () => {
      const printed = await run(`
        const sizes = [513, 4096, 5000, 16384].map((size) => {
          const { liveBytes } = ResourceScope.stats()
          const scopes = Array.from({ length: 1000 }, () => { const scope = NativeScope.ofConfined(); scope.allocate(size).setUint8(size - 1, 7); return scope })
          const each = (ResourceScope.stats().liveBytes - liveBytes) / scopes.length
          for (const scope of scopes) scope.close()
          return each / size
        })
        const open = () => Array.from({ length: 4000 }, () => { const scope = NativeScope.ofConfined(); scope.allocate(4096); return scope })
        const before = rss()
        const scopes = open()
        const each = (rss() - before) / scopes.length
        for (const scope of scopes) scope.close()
        console.log(JSON.stringify([Math.max(...sizes), each, ResourceScope.stats().liveBytes]))`)
      const [most, each, left] = JSON.parse(printed) as [number, number, number]
      // With the pooled chunks of the sizes before, of which there are few.
      expect(most).toBeLessThan(2.5)
      expect(each).toBeLessThan(8192)
      expect(left).toBe(0)
    })

  if (!isInstrumented)
    test('of arenas that were collected unclosed is freed', { timeout: 60_000 }, async () => {
      const printed = await run(`
        const round = () => { for (let i = 0; i < 20_000; i++) { const scope = NativeScope.ofConfined(); scope.allocate(16).setInt32(0, 1); if (i % 3 === 0) scope.close() } }
        for (let i = 0; i < 5; i++) { round(); await settle() }
        const before = rss()
        for (let i = 0; i < 20; i++) { round(); await settle() }
        console.log((rss() - before) / 2 ** 20)`)
      expect(Number(printed)).toBeLessThan(24)
    })

  if (!isInstrumented)
    test('of arenas with raw views is freed', { timeout: 60_000 }, async () => {
      const printed = await run(`
        const round = () => { for (let i = 0; i < 10_000; i++) { const scope = NativeScope.ofConfined(); scope.allocate(16).view().setInt32(0, 1); scope.close() } }
        for (let i = 0; i < 5; i++) { round(); await settle() }
        const before = rss()
        for (let i = 0; i < 20; i++) { round(); await settle() }
        console.log((rss() - before) / 2 ** 20)`)
      expect(Number(printed)).toBeLessThan(24)
    })
})

test('the stats of scopes count slots and return to their start', () => {
  const before = ResourceScope.stats()
  const all = filled(1000)
  if (hasSlots) expect(ResourceScope.stats().liveBytes - before.liveBytes).toBeGreaterThanOrEqual(1000 * SLOT_SIZE)
  for (const { scope } of all) scope.close()
  const after = ResourceScope.stats()
  expect([after.liveBytes, after.openScopes]).toEqual([before.liveBytes, before.openScopes])
  expect(after.pooledBytes).toBeLessThan(8 * 2 ** 20)
})
