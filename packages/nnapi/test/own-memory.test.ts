import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { ReadOnlyError, ScopeClosedError } from '@tenon/core'
import {
  type BuiltModel,
  buildModel,
  connectDriver,
  createFence,
  serveDriver,
  spawnDriver,
  workerDriver,
  operandSlice,
} from '../src/index.ts'
import {
  createFrozenPool,
  createImagePool,
  createPool,
  freezePool,
  openFilePool,
  PoolsError,
  poolUsage,
  shareReadOnly,
} from '@tenon/pools'
import { HEADER_SIZE, operations, writeHeader } from '../src/wire/frame.ts'
import { poolToHidl } from '../src/hidl.ts'
import { PeerGone } from '../src/link/link.ts'
import { PortLink, portPair } from '../src/link/port-link.ts'
import { expectFailure, expectNoLeaks, floats } from './support.ts'

// What Windows is: processes share nothing by descriptor. Threads share memory of the process.
await vi.hoisted(async () => {
  const { platform } = await import('@tenon/pools/internal')
  for (const name of ['sharesDescriptors', 'hasSeals'] as const) vi.spyOn(platform, name).mockReturnValue(false)
})

await import('./driver.test.ts')
await import('./device-buffer.test.ts')
await import('./rules.test.ts')
await import('./rules-memory.test.ts')

describe('pools of memory of the process', () => {
  test('are read, written, frozen and shared', async () => {
    await expectNoLeaks(() => {
      using pool = createPool(4096, { label: 'mine' })
      expect([pool.kind, pool.backing, pool.rights]).toEqual(['shared', 'process', 'writable'])
      pool.write(8, new Float32Array([1.5, -2]))
      expect(floats(pool.read(8, 8))).toEqual([1.5, -2])
      pool.view().setUint8(0, 7)
      expect(pool.read(0, 1)[0]).toBe(7)
      using reader = shareReadOnly(pool)
      expect([reader.rights, reader.identity === pool.identity]).toEqual(['read-only', true])
      expect(() => reader.write(0, Uint8Array.of(1))).toThrow(ReadOnlyError)
      expect(reader.read(0, 1)[0]).toBe(7)
      using frozen = createFrozenPool(new Float32Array([7]))
      expect([frozen.rights, frozen.backing]).toEqual(['frozen', 'process'])
      const other = createPool(16)
      using cold = freezePool(other)
      expect([other.isAlive, cold.rights]).toEqual([false, 'frozen'])
      expect(poolUsage()).toMatchObject({ mappings: 4 })
      using image = createImagePool({ width: 3, height: 2, format: 'R8_UNORM' })
      image.writeRow(0, 1, Uint8Array.of(4, 5, 6))
      expect([...image.readPixels()]).toEqual([0, 0, 0, 4, 5, 6])
    })
  })

  test('cannot be read or written after close()', () => {
    const pool = createPool(64)
    const segment = pool.segment
    pool.close()
    expect(() => segment.view()).toThrow(ScopeClosedError)
    expect(() => pool.read(0)).toThrow(ScopeClosedError)
  })

  test('functions that need descriptors fail with a hint', async () => {
    await expectNoLeaks(async () => {
      for (const attempt of [
        () => openFilePool('package.json'),
        () => spawnDriver(),
        () => connectDriver('/tmp/socket'),
        () => serveDriver({ path: '/tmp/socket' }),
        () => createFence(),
      ]) {
        const error = await expectFailure(attempt, 'GENERAL_FAILURE')
        expect(error.hint).toBeDefined()
      }
      using pool = createPool(16)
      await expectFailure(() => poolToHidl(pool), 'INVALID_ARGUMENT')
    })
  })
})

describe('channels between threads', () => {
  const frame = (link: PortLink, length = HEADER_SIZE): void =>
    writeHeader(link.sent.view, length, { operation: operations.CANCEL, id: 7 })

  test('keep messages in order, with their memory', () => {
    const [one, two] = portPair().map((end) => new PortLink(end)) as [PortLink, PortLink]
    const memory = new SharedArrayBuffer(16)
    for (const attachments of [[], [memory], []]) {
      writeHeader(one.sent.view, HEADER_SIZE, { operation: operations.CANCEL, id: 7, descriptors: attachments.length })
      one.send(HEADER_SIZE, attachments)
    }
    expect(two.receive(0)).toEqual([])
    const [same] = two.receive(-1)!
    new Uint8Array(same as SharedArrayBuffer)[3] = 5
    expect(new Uint8Array(memory)[3]).toBe(5)
    expect(two.receive(1000)).toEqual([])
    expect(two.receive(0)).toBeUndefined()
    expect(two.receive(5)).toBeUndefined()
    one.close()
    two.close()
  })

  test('are closed at both ends at once', () => {
    const [one, two] = portPair().map((end) => new PortLink(end)) as [PortLink, PortLink]
    frame(one)
    one.send(HEADER_SIZE, [])
    two.close()
    expect(() => one.receive(-1)).toThrow(PeerGone)
    expect(() => one.send(HEADER_SIZE, [])).toThrow(PeerGone)
    one.close()
    one.close()
  })

  test('refuse malformed messages', () => {
    const [one, two] = portPair().map((end) => new PortLink(end)) as [PortLink, PortLink]
    frame(one, 100)
    one.send(HEADER_SIZE, [])
    expect(() => two.receive(0)).toThrow(PoolsError)
    one.close()
    two.close()
  })

  test('end when the worker exits, also for a blocked caller', async () => {
    await expectNoLeaks(async () => {
      await using driver = await workerDriver({ script: join(import.meta.dirname, 'fixtures/worker.js') })
      using model = operationModel('EXIT')
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 8)] }
      await expectFailure(() => prepared.run(args), 'DEAD_OBJECT')
      await expectFailure(() => prepared.runAsync(args), 'DEAD_OBJECT')
    })
  })

  test('survive a kernel that throws, and hide its message', async () => {
    await expectNoLeaks(async () => {
      await using driver = await workerDriver({ script: join(import.meta.dirname, 'fixtures/worker.js') })
      using model = operationModel('FAIL')
      using prepared = await driver.prepare(model)
      using pool = createPool(64)
      const args = { inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [2])], outputs: [pool.slice(16, 8)] }
      for (let i = 0; i < 3; i++) {
        const { message } = await expectFailure(() => prepared.runAsync(args), 'GENERAL_FAILURE')
        expect(message).not.toContain('secret')
      }
    })
  })

  test('end with a worker that never sends HELLO', async () => {
    await expectNoLeaks(async () => {
      const script = new URL('data:text/javascript,')
      await expectFailure(() => workerDriver({ script }), 'DEAD_OBJECT')
    })
  })
})

/** A model of one operation of the worker's own. */
function operationModel(type: string): BuiltModel {
  return buildModel((g) =>
    g.output(g.operation(type, [g.input('TENSOR_FLOAT32', [0])], { type: 'TENSOR_FLOAT32', dimensions: [0] })),
  )
}
