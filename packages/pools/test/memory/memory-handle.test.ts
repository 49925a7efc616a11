import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { sharedChunkOf } from '@tenon/core/internal'
import { duplicateDescriptor } from '../../src/memory/descriptor.ts'
import type { MemoryHandle } from '../../src/memory/memory-handle.ts'
import { SharedMemory } from '../../src/memory/shared-memory.ts'
import { elementSamples } from './element-samples.ts'
import { collectUntil, hasOwnBuffers, mappingsOf, openDescriptors, residentBytes } from './memory-status.ts'
import { nextMessage, startWorker, withoutBuffers } from './memory-worker.ts'

const MIB = 2 ** 20

const workers: ReturnType<typeof startWorker>[] = []

afterEach(async () => {
  await Promise.all(workers.splice(0).map(async (worker) => worker.terminate()))
})

function start(code: string, data?: unknown): ReturnType<typeof startWorker> {
  const worker = startWorker(code, data)
  workers.push(worker)
  return worker
}

const floats = (memory: SharedMemory, values: readonly number[]): Tensor<'float32'> => {
  const x = tensor('f32', [values.length], undefined, { allocator: memory })
  x.set(Float32Array.from(values))
  return x
}

describe.runIf(process.platform === 'linux')('handle()', () => {
  test.each([hasOwnBuffers, false])(
    'a worker reads and writes the same memory, with SharedArrayBuffers: %s',
    async (has) => {
      using memory = SharedMemory.open({ chunk: '1 MiB', label: 'threads' })
      const x = floats(memory, [1, 2, 3])
      const y = floats(memory, [0, 0, 0])
      const handle = memory.handle({ tensors: { x, y } })
      expect(handle.chunks[0]!.shared instanceof SharedArrayBuffer).toBe(hasOwnBuffers)
      const worker = start(
        `const memory = SharedMemory.ofHandle(workerData)
       const x = memory.tensor('x')
       memory.tensor('y').set(x.toArray().map((value) => 2 * value))
       parentPort.postMessage([memory.identity, String(memory), internal.sharedChunkOf(x) !== undefined])`,
        has ? handle : withoutBuffers(handle),
      )
      expect(await nextMessage(worker)).toEqual([memory.identity, 'ImportedMemory "threads" (1048576 bytes)', true])
      expect(y.toArray()).toEqual([2, 4, 6])
    },
  )

  test.runIf(hasOwnBuffers)('Atomics.wait() and notify() work over one buffer', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const handle = memory.handle({ tensors: { x: tensor('i32', [2], undefined, { allocator: memory }) } })
    const shared = handle.chunks[0]!.shared!
    const worker = start(
      `const words = new Int32Array(workerData)
       parentPort.postMessage('waiting')
       parentPort.postMessage(Atomics.wait(words, 0, 0, 10_000))`,
      shared,
    )
    await nextMessage(worker)
    const words = new Int32Array(shared)
    const answer = nextMessage(worker)
    Atomics.store(words, 0, 1)
    Atomics.notify(words, 0)
    expect(['ok', 'not-equal']).toContain(await answer)
  })

  test('posting memory, imported memory or a tensor throws an error that names handle()', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, [1])
    using imported = SharedMemory.ofHandle(memory.handle())
    for (const value of [memory, imported, x, { x }])
      expect(() => structuredClone(value)).toThrow(/shared memory cannot be posted: post .*handle\(\)/)
  })

  test('every element type crosses bit by bit, also through a location as JSON', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const all = elementSamples(memory)
    expect(all.length).toBeGreaterThan(25)
    using imported = SharedMemory.ofHandle(memory.handle())
    for (const x of all) {
      const copy = imported.tensor(JSON.parse(JSON.stringify(memory.locate(x))) as ReturnType<typeof memory.locate>)
      expect(copy.type).toBe(x.type)
      expect(copy.equals(x)).toBe(true)
      expect(imported.locate(copy)).toEqual(memory.locate(x))
    }
  })

  test('views with strides and offsets are located', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = tensor('f32', [2, 3], undefined, { allocator: memory })
    x.set([
      [1, 2, 3],
      [4, 5, 6],
    ])
    using imported = SharedMemory.ofHandle(memory.handle())
    for (const view of [x.transpose(), x.slice(1), x.slice(null, [1, 3])])
      expect(imported.tensor(memory.locate(view)).toNested()).toEqual(view.toNested())
  })

  test.runIf(hasOwnBuffers)(
    'memory in a worker lives on after the owner has closed its memory, and goes with the worker',
    async () => {
      const memory = SharedMemory.open({ chunk: '1 MiB', label: 'outlives' })
      const x = floats(memory, [1, 2, 3])
      const worker = start(
        `const memory = SharedMemory.ofHandle(workerData)
       const x = memory.tensor('x')
       parentPort.postMessage('ready')
       parentPort.once('message', () => parentPort.postMessage(x.toArray()))`,
        memory.handle({ tensors: { x } }),
      )
      await nextMessage(worker)
      memory.close()
      const answer = nextMessage(worker)
      worker.postMessage('closed', [])
      expect(await answer).toEqual([1, 2, 3])
      await worker.terminate()
      expect(await collectUntil(() => mappingsOf('outlives') === 0)).toBe(true)
    },
  )

  test('a chunk that its owner has closed meanwhile is left out', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, [1])
    let weights: Tensor | undefined = memory.freeze(tensor([1, 2]))
    const handle = memory.handle({ tensors: { x, weights } })
    weights = undefined
    expect(await collectUntil(() => memory.usage.chunks === 1)).toBe(true)
    using imported = SharedMemory.ofHandle(handle)
    expect(imported.tensor('x').toArray()).toEqual([1])
    expect(() => imported.tensor('weights')).toThrow(/^chunk must be one of the imported memory, got 1/)
  })

  test.runIf(hasOwnBuffers)('raw views in a worker stay valid when its memory is closed', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const worker = start(
      `const memory = SharedMemory.ofHandle(workerData)
       const x = memory.tensor('x')
       const view = x.view()
       memory.close()
       let message = ''
       try { x.toArray() } catch (error) { message = error.message }
       parentPort.postMessage([[...view], message.split('\\n')[0]])`,
      memory.handle({ tensors: { x: floats(memory, [7, 8]) } }),
    )
    expect(await nextMessage(worker)).toEqual([[7, 8], 'the imported memory is closed already'])
  })

  test('a handle whose memory was closed is refused without buffers, although its descriptor has another owner', () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.allocate(1)
    const handle = withoutBuffers(memory.handle())
    memory.close()
    using other = SharedMemory.open({ chunk: '1 MiB' })
    other.allocate(1)
    const before = openDescriptors()
    expect(() => SharedMemory.ofHandle(handle)).toThrow(/^the handle must be that of open memory of this process/)
    const copy = duplicateDescriptor(handle.chunks[0]!.descriptor)
    expect(openDescriptors()).toBe(before + 1)
    process.getBuiltinModule('node:fs').closeSync(copy)
  })

  test('wrong handles and locations are refused, and nothing stays open', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, [1, 2])
    const handle = memory.handle({ tensors: { x } })
    const [chunk] = handle.chunks as [MemoryHandle['chunks'][number]]
    const before = openDescriptors()
    const bad: [unknown, RegExp][] = [
      [undefined, /^handle must be the handle\(\)/],
      [{ ...handle, kind: 'other' }, /^handle must be the handle\(\)/],
      [{ ...handle, identity: 5 }, /^handle must be the handle\(\)/],
      [{ ...handle, chunks: 5 }, /^handle must be the handle\(\)/],
      [{ ...handle, chunks: [null] }, /^a chunk of the handle must be an object/],
      [{ ...handle, tensors: 5 }, /^tensors must be an object of locations/],
      [{ ...handle, chunks: [{ ...chunk, id: -1 }] }, /^id must be a whole number/],
      [{ ...handle, chunks: [chunk, chunk] }, /^the chunks of a memory must have different numbers, got 0 twice/],
      [withoutBuffers({ ...handle, chunks: [{ ...chunk, byteSize: 2 * MIB }] }), /it has 1048576/],
      [withoutBuffers({ ...handle, chunks: [{ ...chunk, descriptor: 0 }] }), /must be that of open memory/],
      [withoutBuffers({ ...handle, chunks: [{ ...chunk, descriptor: -5 }] }), /must be that of open memory/],
      [withoutBuffers({ ...handle, chunks: [{ ...chunk, descriptor: 2 ** 40 }] }), /must be that of open memory/],
    ]
    for (const [value, message] of bad) expect(() => SharedMemory.ofHandle(value as MemoryHandle)).toThrow(message)
    expect(openDescriptors()).toBe(before)
    using imported = SharedMemory.ofHandle(handle)
    const place = memory.locate(x)
    const wrong: [object | string, RegExp][] = [
      [{ ...place, chunk: 1 }, /^chunk must be one of the imported memory, got 1/],
      [{ ...place, byteOffset: MIB }, /must have .*8/],
      [{ ...place, byteOffset: -1 }, /^byteOffset must be/],
      [{ ...place, byteOffset: 1 }, /aligned|multiple/],
      [{ ...place, shape: [2 ** 40] }, /./],
      [{ ...place, shape: 5 }, /^shape must be an array of sizes/],
      [{ ...place, dtype: 'f33' }, /./],
      [{ ...place, strides: [-1] }, /strides/],
      ['z', /^the memory must have a tensor "z"/],
    ]
    for (const [value, message] of wrong) expect(() => imported.tensor(value as string)).toThrow(message)
    expect(() => memory.locate(tensor([1, 2]))).toThrow(/^the tensor must lie in this memory, got f/)
    using other = SharedMemory.open({ chunk: '1 MiB' })
    expect(() => other.locate(x)).toThrow(/^the tensor must lie in this memory/)
    expect(() => memory.handle({ tensors: { y: 5 as never } })).toThrow(/^x must be a tensor/)
  })
})

describe.runIf(process.platform === 'linux')('rights', () => {
  test('freeze() copies a tensor to memory that nobody can write', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = tensor([
      [1, 2],
      [3, 4],
    ])
    let weights: Tensor | undefined = memory.freeze(x.transpose())
    expect(weights.toNested()).toEqual([
      [1, 3],
      [2, 4],
    ])
    expect(() => weights!.set([[1, 2], [3, 4]])).toThrow(/read-only/) // prettier-ignore
    expect(sharedChunkOf(weights)!.isWritable).toBe(false)
    using imported = SharedMemory.ofHandle(memory.handle({ tensors: { weights } }))
    const theirs = imported.tensor('weights')
    expect(theirs.toArray()).toEqual([1, 3, 2, 4])
    expect(() => theirs.set([[1, 2], [3, 4]])).toThrow(/read-only/) // prettier-ignore
    const { openSync, writeSync } = process.getBuiltinModule('node:fs')
    const { descriptor } = sharedChunkOf(weights)!
    const again = openSync(`/proc/self/fd/${descriptor}`, 'r+')
    expect(() => writeSync(again, Buffer.of(1))).toThrow(/EPERM/)
    process.getBuiltinModule('node:fs').closeSync(again)
    weights = undefined
    expect(await collectUntil(() => memory.usage.chunks === 0)).toBe(true)
    memory.freeze(tensor('i4', [3], [1, -2, 3], { packing: 'packed' })).equals(tensor('i4', [3], [1, -2, 3]))
  })

  test('readOnly() keeps others from writing, and the owner goes on, also with later chunks', () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, [1, 2])
    memory.readOnly()
    const large = memory.allocate(2 * MIB)
    const handle = memory.handle({ tensors: { x } })
    expect(handle.chunks.map(({ shared }) => shared)).toEqual([undefined, undefined])
    using imported = SharedMemory.ofHandle(handle)
    const theirs = imported.tensor('x')
    x.set([3, 4])
    expect(theirs.toArray()).toEqual([3, 4])
    expect(() => theirs.set([5, 6])).toThrow(/read-only/)
    expect(sharedChunkOf(large)!.isWritable).toBe(false)
  })

  test.runIf(hasOwnBuffers)('a sealed memory gives its chunks back and zeroes what it uses again', async () => {
    using memory = SharedMemory.open({ chunk: '4 MiB' })
    memory.readOnly()
    const kept = memory.allocate(64)
    const before = residentBytes('RssShmem')
    ;(() => void new Uint8Array(memory.allocate(3 * MIB).view().buffer).fill(1))()
    expect(await collectUntil(() => memory.usage.usedBytes === 64)).toBe(true)
    expect(new Uint8Array(memory.allocate(3 * MIB).view().buffer).every((byte) => byte === 0)).toBe(true)
    expect(residentBytes('RssShmem')).toBeGreaterThanOrEqual(before)
    expect(kept.byteSize).toBe(64)
  })

  test('a closed memory refuses all of it', () => {
    const memory = SharedMemory.open({ chunk: '1 MiB' })
    memory.close()
    expect(() => memory.freeze(tensor([1]))).toThrow(ScopeClosedError)
    expect(() => memory.readOnly()).toThrow(ScopeClosedError)
    expect(() => memory.handle()).toThrow(ScopeClosedError)
    expect(() => memory.arena()).toThrow(ScopeClosedError)
  })
})

describe.runIf(process.platform === 'linux')('leaks', () => {
  test('a worker that ends closes the memory that it left open', async () => {
    using memory = SharedMemory.open({ chunk: '1 MiB' })
    const x = floats(memory, [1])
    const before = openDescriptors()
    const worker = start(
      `globalThis.kept = SharedMemory.ofHandle(workerData)
       globalThis.own = SharedMemory.open({ chunk: '1 MiB', label: 'left-open' })
       own.allocate(100)
       const closed = SharedMemory.open()
       closed.close()
       parentPort.postMessage(kept.tensor('x').toArray())`,
      memory.handle({ tensors: { x } }),
    )
    const end = once(worker, 'exit')
    expect(await nextMessage(worker)).toEqual([1])
    await end
    expect(mappingsOf('left-open')).toBe(0)
    for (let i = 0; i < 200 && openDescriptors() > before; i++) await sleep(5)
    expect(openDescriptors()).toBeLessThanOrEqual(before)
  })

  test('opening, sharing and closing 200 memories leaves descriptors, mappings and pages as they were', async () => {
    const worker = start(
      `parentPort.on('message', (handle) => {
         const memory = SharedMemory.ofHandle(handle)
         parentPort.postMessage(memory.tensor('x').toArray()[0])
         memory.close()
         globalThis.gc?.()
       })`,
    )
    const round = async (i: number): Promise<void> => {
      const memory = SharedMemory.open({ chunk: '1 MiB', label: 'leak-test' })
      const answer = once(worker, 'message')
      const x = floats(memory, [i, 0])
      using arena = memory.arena()
      arena.allocate(100)
      memory.freeze(x)
      worker.postMessage(memory.handle({ tensors: { x } }), [])
      expect((await answer)[0]).toBe(i)
      arena.close()
      memory.close()
    }
    for (let i = 0; i < 20; i++) await round(i)
    // The engine keeps the last buffer in a register or on the stack.
    await collectUntil(() => mappingsOf('leak-test') <= 2)
    const before = [openDescriptors(), residentBytes('RssShmem')] as const
    for (let i = 0; i < 200; i++) await round(i)
    await worker.terminate()
    expect(await collectUntil(() => mappingsOf('leak-test') <= 2)).toBe(true)
    expect(openDescriptors()).toBeLessThanOrEqual(before[0])
    expect(residentBytes('RssShmem') - before[1]).toBeLessThan(4 * MIB)
  })
})
