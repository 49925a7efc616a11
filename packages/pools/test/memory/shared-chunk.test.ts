import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gcAllocator, tensor } from '@tenon/core'
import { sharedChunkOf } from '@tenon/core/internal'
import { createFrozenPool, createPool, openFilePool, shareReadOnly } from '../../src/index.ts'

describe.runIf(process.platform === 'linux')('sharedChunkOf()', () => {
  test('finds the chunk of a tensor in a pool, whose descriptor has the same bytes', () => {
    using pool = createPool(8192)
    const x = tensor('f32', [3], pool.segment.asSlice(4096, 12))
    const chunk = sharedChunkOf(x)!
    expect([chunk.byteSize, chunk.isWritable, chunk.isAlive]).toEqual([8192, true, true])
    expect(x.address - chunk.address).toBe(4096)
    x.set([1, 2, 3])
    const file = readFileSync(`/proc/self/fd/${chunk.descriptor}`)
    expect(file.subarray(4096, 4108)).toEqual(Buffer.from(Float32Array.of(1, 2, 3).buffer))
    expect(sharedChunkOf(x.slice([1, 3]))).toBe(chunk)
    expect(sharedChunkOf(pool.segment)).toBe(chunk)
  })

  test('says that frozen and read-only memory is not writable', () => {
    using frozen = createFrozenPool(Uint8Array.of(1, 2))
    expect(sharedChunkOf(frozen.segment)!.isWritable).toBe(false)
    using pool = createPool(64)
    using shared = shareReadOnly(pool)
    expect(sharedChunkOf(shared.segment)!.isWritable).toBe(false)
  })

  test('is undefined for memory of the process and for files, which can shrink', () => {
    expect(sharedChunkOf(gcAllocator.allocate(64))).toBeUndefined()
    const path = join(tmpdir(), `tenon-chunk-${process.pid}`)
    writeFileSync(path, 'contents')
    using pool = openFilePool(path)
    unlinkSync(path)
    expect(sharedChunkOf(pool.segment)).toBeUndefined()
  })

  test('calls each listener once when the pool closes, and before the memory is unmapped', () => {
    const pool = createPool(64)
    const { segment } = pool
    const chunk = sharedChunkOf(segment)!
    const calls: string[] = []
    chunk.onClose(() => calls.push(`first, alive: ${chunk.isAlive}`))
    const forget = chunk.onClose(() => calls.push('second'))
    chunk.onClose(() => calls.push('third'))
    forget()
    pool.close()
    expect(calls).toEqual(['first, alive: false', 'third'])
    expect(sharedChunkOf(segment)).toBeUndefined()
  })

  test('posting a pool, its segment or a slice throws an error that names handle()', () => {
    using pool = createPool(64)
    for (const value of [pool, pool.segment, pool.slice(0, 8)])
      expect(() => structuredClone(value)).toThrow(
        /pools cannot be posted: use SharedMemory.open\(\) and post its handle/,
      )
  })

  test('a raw view of a pool still ends when the pool is closed', () => {
    const pool = createPool(64)
    const view = pool.view()
    view.setUint8(3, 9)
    expect(pool.read(3, 1)).toEqual(Uint8Array.of(9))
    pool.close()
    expect(view.buffer.byteLength).toBe(0)
  })
})
