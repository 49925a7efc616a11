import { packageFlags } from '@tenon/config/package-flags'
import { closeSync, mkdtempSync, openSync, read, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BoundsError, from, gcAllocator, ScopeClosedError, tensor, type Segment, type Tensor } from '@tenon/core'
import { addressOf, Block, expose, globalGate, guardMode, hasSlabs, partBuffers, Slab } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { beforeEach, describe, expect, test } from 'vitest'

/** Transfers the buffer of a tensor of 8 numbers away. Returns them in their new buffer. */
function transferred(x: Tensor, byteSize?: number): Float32Array {
  const { buffer, byteOffset } = x.view()
  return new Float32Array((buffer as ArrayBuffer).transfer(byteSize), byteOffset, 8)
}

/** Collects garbage, and lets Node.js free the buffers over native memory. */
async function collect(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** Writes memory that is not in use any more, if there is such memory. */
function reuseMemory(): void {
  for (let i = 0; i < 2000; i++) tensor('u8', [64], new Uint8Array(64).fill(0xee))
  for (let i = 0; i < 50; i++) new Uint8Array(16384 + 48).fill(0xee)
}

// Memory gets buffers of its own after many views, until there was as much memory without views.
beforeEach(reuseMemory)

const numbers = (start: number): number[] => Array.from({ length: 8 }, (_, i) => start + i)

const filled = (start: number): Tensor => tensor('f32', [2, 4], numbers(start))

test('parts are taken one behind the other, aligned, and never twice', () => {
  const slab = new Slab(1024)
  expect(slab.address % 64).toBe(0)
  expect([slab.take(1, 1), slab.take(8, 8), slab.take(1, 64), slab.take(900, 16)]).toEqual([0, 8, 64, 80])
  expect([slab.take(45, 1), slab.take(44, 1), slab.take(1, 1)]).toEqual([-1, 980, -1])
})

test('memory is zeroed, aligned, and of no other tensor', () => {
  const all = Array.from({ length: 3000 }, (_, i) => gcAllocator.allocate(i % 70, 2 ** (i % 8)))
  const places = all.map(({ address, byteSize }) => [Number(address), Math.max(byteSize, 1)] as const)
  places.sort(([a], [b]) => a - b)
  for (let i = 1; i < places.length; i++)
    expect(places[i]![0]).toBeGreaterThanOrEqual(places[i - 1]![0] + places[i - 1]![1])
  all.forEach(({ address, block, base, byteSize }, i) => {
    expect(Number(address) % 2 ** (i % 8)).toBe(0)
    expect(block.bytes.subarray(base, base + byteSize).every((byte) => byte === 0)).toBe(true)
    block.bytes.fill(0xff, base, base + byteSize)
  })
})

describe('a raw view', () => {
  test('shows no byte of another tensor, whatever it was made from', () => {
    const all = Array.from({ length: 200 }, (_, i) => filled(i))
    const views = all.flatMap((x, i): { buffer: ArrayBufferLike }[] => {
      if (i % 3 === 1) return []
      const made = [x, x.reshape([8]), x.slice(1), x.slice([0, 1])].map((part) => part.view())
      return [...made, x.segment.view(), x.segment.asSlice(4, 8).view()]
    })
    for (const buffer of new Set(views.map((view) => view.buffer))) {
      const [start, end] = [addressOf(buffer), addressOf(buffer) + buffer.byteLength]
      const inside = all.filter(({ address }) => address < end && address + 32 > start)
      expect(inside.length).toBe(1)
    }
    expect(all.map((x) => x.toArray())).toEqual(all.map((_, i) => numbers(i)))
  })

  test('and the tensor see what the other writes, also through earlier views', () => {
    const x = filled(0)
    const part = x.slice(1)
    expect(part.toArray()).toEqual([4, 5, 6, 7])
    const view = x.view() as Float32Array
    view[5] = 50
    x.slice(0).set([10, 11, 12, 13])
    expect([part.toArray(), [...view]]).toEqual([
      [4, 50, 6, 7],
      [10, 11, 12, 13, 4, 50, 6, 7],
    ])
    expect(x.view().buffer).toBe(view.buffer)
    expect(x.address).toBe(addressOf(view))
  })

  test('is copied by structuredClone(), with no byte of others', () => {
    const [before, x, after] = [filled(100), filled(1), filled(200)]
    const copy = structuredClone(x.view()) as Float32Array
    expect([...copy]).toEqual(numbers(1))
    expect(copy.buffer.byteLength).toBeLessThanOrEqual(32 + 48)
    expect([before.toArray(), after.toArray()]).toEqual([numbers(100), numbers(200)])
  })

  test.runIf(hasSlabs() && !guardMode)('cannot be transferred to another thread, and stays as it is', () => {
    const gate = globalGate
    const slab = new Slab(1024)
    const block = Block.ofPart(gate, slab, slab.take(32, 64), 32)
    block.bytes.fill(7)
    expose(block)
    const { buffer } = block.view
    expect(() => structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })).toThrow(/could not|transfer/i)
    expect([block.bytes.length, block.bytes[31], buffer.byteLength]).toEqual([32, 7, 32])
  })

  test('detaches the tensor alone if its buffer is transferred', async () => {
    const [before, x, after] = [filled(100), filled(1), filled(200)]
    const part = x.slice(1)
    const moved = transferred(x)
    for (const use of [
      () => x.toArray(),
      () => part.toArray(),
      () => x.view(),
      () => x.set([numbers(2).slice(4), numbers(6).slice(4)]),
      () => x.copy(),
    ])
      expect(use).toThrow(ScopeClosedError)
    expect([before.toArray(), after.toArray()]).toEqual([numbers(100), numbers(200)])
    await collect()
    expect([...moved]).toEqual(numbers(1))
  })

  test('keeps its bytes when tensor, segment and first buffer are collected', async () => {
    // Viewed when all are made, because memory gets buffers of its own after many views.
    const make = (): Tensor[] => Array.from({ length: 50 }, (_, i) => filled(i))
    const views = make().map((x) => x.view() as Float32Array)
    reuseMemory()
    const moved = make().map((x) => transferred(x))
    reuseMemory()
    const larger = make().map((x) => transferred(x, 4096))
    for (let round = 0; round < 3; round++) {
      await collect()
      reuseMemory()
    }
    for (const all of [views, moved, larger]) all.forEach((view, i) => expect([...view]).toEqual(numbers(i)))
  })

  test('of nothing is empty, and its memory is usable', () => {
    const x = tensor('f32', [0])
    expect([x.view().length, x.toArray(), x.copy().toArray()]).toEqual([0, [], []])
    expect(from(new Float32Array(0)).view().length).toBe(0)
  })

  test('can be the target of a read of a file when its tensor was collected', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-'))
    const path = join(directory, 'bytes')
    writeFileSync(path, new Uint8Array(64).fill(9))
    const descriptor = openSync(path, 'r')
    try {
      const reads = Array.from({ length: 100 }, () => {
        const view = gcAllocator.allocate(64, 64).view()
        return new Promise<Uint8Array>((resolve, reject) =>
          read(descriptor, view, 0, 64, 0, (error) => {
            if (error === null) resolve(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
            else reject(error)
          }),
        )
      })
      globalThis.gc!()
      reuseMemory()
      for (const bytes of await Promise.all(reads)) expect(bytes.every((byte) => byte === 9)).toBe(true)
    } finally {
      closeSync(descriptor)
      rmSync(directory, { recursive: true })
    }
  })
})

test('a tensor over the view of another keeps the bytes, and ends with its buffer', async () => {
  let first: Tensor | undefined = filled(3)
  const second = from(first.view() as Float32Array, [4, 2])
  first = undefined
  await collect()
  reuseMemory()
  expect(second.toArray()).toEqual(numbers(3))
  transferred(second)
  expect(() => second.toArray()).toThrow(ScopeClosedError)
})

test('memory is freed when nothing reaches it, viewed or not', async () => {
  await collect()
  const start = process.memoryUsage().arrayBuffers
  for (let i = 0; i < 100_000; i++) {
    const x = gcAllocator.allocate(512, 64)
    if (i % 50 === 0) x.view()
    if (i % 10_000 === 0) await collect()
  }
  for (let i = 0; i < 20 && process.memoryUsage().arrayBuffers > start + 2 ** 20; i++) await collect()
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(start + 2 ** 20)
  expect(partBuffers()).toBeLessThan(1000)
})

test('views in a loop without a turn of the event loop keep little memory', async () => {
  await collect()
  const start = partBuffers()
  for (let i = 0; i < 50_000; i++) {
    const x = gcAllocator.allocate(64, 64)
    if (i % 5 !== 0) x.view()
  }
  for (let i = 0; i < 50_000; i++) {
    const x = gcAllocator.allocate(64, 64)
    if (i % 5 === 0) x.view()
  }
  expect(partBuffers() - start).toBeLessThan(6000)
})

describe('in a process of its own', () => {
  const packageDirectory = fileURLToPath(new URL('..', import.meta.url))
  const run = async (source: string, env: Record<string, string> = {}): Promise<unknown> => {
    const { code, stdout, stderr } = await runScript(source, {
      cwd: packageDirectory,
      env,
      nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning', '--expose-gc'],
    })
    return code === 0 ? stdout.trim() : stderr
  }

  const uses = `
    import { tensor, gcAllocator } from '@tenon/core'
    const turn = () => new Promise((resolve) => setTimeout(resolve, 1))
    const moved = [], views = [], kept = []
    for (let i = 1; i < 300; i++) {
      const x = tensor('s32', [4], [i, i + 1, i + 2, i + 3])
      if (i % 3 === 0) moved.push([i, x.view().buffer.transfer()])
      if (i % 3 === 1) views.push([i, x.view()])
      if (i % 3 === 2) kept.push([i, x])
      if (i % 50 === 0) { gc(); await turn() }
    }
    gc(); await turn(); gc()
    const ok = (i, values) => values[0] === i && values[3] === i + 3
    console.log(
      moved.every(([i, buffer]) => { const at = new Int32Array(buffer).indexOf(i); return at >= 0 && ok(i, new Int32Array(buffer, 4 * at, 4)) }),
      views.every(([i, view]) => ok(i, view)), kept.every(([i, x]) => ok(i, x.toArray())))`

  test.each([
    { TENON_DRIVER: 'node-api' },
    { TENON_DRIVER: 'koffi' },
    { TENON_DEBUG: 'guard', TENON_DRIVER: 'node-api' },
    { TENON_DEBUG: 'guard', TENON_DRIVER: 'koffi' },
  ])('memory is kept as long as it is reached with %j', async (env) => {
    const source = env.TENON_DRIVER === 'koffi' ? uses.replace('i % 3 === 0', 'false') : uses
    expect(await run(source, env)).toBe('true true true')
  })

  test('views, workers and their ends leave the memory of other threads alone', async () => {
    const source = `
      import { once } from 'node:events'
      import { Worker } from 'node:worker_threads'
      import { tensor } from '@tenon/core'
      const code = \`import('@tenon/core').then(({ tensor }) => {
        const kept = Array.from({ length: 500 }, (_, i) => tensor('s32', [4], [i, i, i, i]))
        globalThis.views = kept.filter((_, i) => i % 2).map((x) => x.view())
        globalThis.moved = kept.filter((_, i) => i % 4 === 0).map((x) => x.view().buffer.transfer())
        process.getBuiltinModule('node:worker_threads').parentPort.postMessage(views[2])
        setInterval(() => {}, 1000)
      })\`
      const mine = Array.from({ length: 500 }, (_, i) => tensor('s32', [4], [i, i, i, i]))
      mine.filter((_, i) => i % 3 === 0).forEach((x) => x.view())
      const sent = []
      for (let round = 0; round < 5; round++) {
        const worker = new Worker(code, { eval: true })
        const [view] = await once(worker, 'message')
        await worker.terminate()
        sent.push(view.join(), view.buffer.byteLength < 100)
        gc()
      }
      console.log(new Set(sent), mine.every((x, i) => x.toArray()[3] === i))`
    expect(await run(source)).toBe("Set(2) { '5,5,5,5', true } true")
  })

  test('a buffer that a worker has moved out of its tensor and sent outlives the worker', async () => {
    const source = `
      import { once } from 'node:events'
      import { Worker } from 'node:worker_threads'
      const code = \`import('@tenon/core').then(({ tensor }) => {
        const all = Array.from({ length: 2000 }, (_, i) => tensor('s32', [16], new Array(16).fill(i + 1)))
        const moved = all.filter((_, i) => i % 100 === 0).map((x) => x.view().buffer.transfer())
        process.getBuiltinModule('node:worker_threads').parentPort.postMessage(moved, moved)
        setInterval(() => {}, 1000)
      })\`
      const worker = new Worker(code, { eval: true })
      const [moved] = await once(worker, 'message')
      await worker.terminate()
      // The allocator of C reuses the memory of a thread that has ended for a new thread.
      const other = new Worker(
        'for (let i = 0; i < 4000; i++) new Uint8Array(new ArrayBuffer(16448)).fill(0xee)', { eval: true })
      await once(other, 'exit')
      console.log(moved.every((buffer, i) => new Int32Array(buffer).filter((one) => one === 100 * i + 1).length === 16))`
    expect(await run(source)).toBe('true')
  })
})

test('a block of a part has the address of the part, and views of it alone', () => {
  const slab = new Slab(256)
  slab.take(64, 64)
  const block = Block.ofPart(globalGate, slab, slab.take(20, 8), 20)
  expect([block.address, block.view.byteLength, block.bytes.length]).toEqual([slab.address + 64, 20, 20])
  expect(addressOf(block.bytes)).toBe(block.address)
  block.view.setInt8(19, 5)
  expose(block)
  expect([block.view.byteLength, block.bytes.length, block.view.getInt8(19)]).toEqual([20, 20, 5])
  expect([addressOf(block.view), block.view.buffer.byteLength]).toEqual([block.address, 20])
})

test('a segment of a part has views and slices as other segments', () => {
  const segment: Segment = gcAllocator.allocate(100, 64)
  segment.asSlice(40, 20).view().setUint8(0, 3)
  expect(segment.view().getUint8(40)).toBe(3)
  expect(() => segment.asSlice(90, 20)).toThrow(BoundsError)
})
