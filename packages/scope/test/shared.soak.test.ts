import { ScopeHeldError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { NativeScope, ResourceScope } from '../src/index.ts'
import { nextMessage, startWorker } from './support/worker.ts'

describe('workers that attach and detach while the owner tries to close', () => {
  const rounds = process.env['TENON_SOAK'] === '1' ? 100_000 : 1000

  test('lose no release and do not crash', { timeout: 600_000 }, async () => {
    const scope = NativeScope.ofShared()
    const segment = scope.allocate(16, 8)
    const code = `
      const { token, rounds } = workerData
      let attached = 0, refused = 0
      for (let i = 0; i < rounds; i++) {
        try {
          const { scope: handle, segments: [segment] } = scope.ResourceScope.attach(token)
          attached++
          segment.atomicUpdate('int64', 0, 'add', 1n)
          segment.asSlice(8, 8).fill(i & 0xff)
          handle.allocate(8).copyFrom(segment.asSlice(8, 8))
          segment.mismatch(segment.asReadOnly())
          handle.detach()
          let stale = false
          try { segment.getInt32(8) } catch { stale = true }
          if (!stale) throw new Error('a detached handle could be used')
        } catch (error) {
          if (error.code !== 'TENON_SCOPE_CLOSED') throw error
          refused++
        }
      }
      parentPort.postMessage({ attached, refused })
    `
    const token = scope.share({ segments: [segment] })
    const workers = Array.from({ length: 4 }, () => startWorker(code, { token, rounds }))
    const results = Promise.all(workers.map((worker) => nextMessage<{ attached: number; refused: number }>(worker)))
    const state = { isRunning: true }
    void results.finally(() => (state.isRunning = false))
    let tries = 0
    // Holds the scope open, so that the owner's attempts to close it do not end the test early.
    const { scope: keeper } = ResourceScope.attach(token)
    while (state.isRunning) {
      expect(() => scope.close()).toThrow(ScopeHeldError)
      tries++
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const counts = await results
    expect(counts.map(({ attached, refused }) => [attached, refused])).toEqual(workers.map(() => [rounds, 0]))
    expect(segment.getInt64(0)).toBe(BigInt(4 * rounds))
    expect(tries).toBeGreaterThan(0)
    keeper.detach()
    scope.close()
    await Promise.all(workers.map(async (worker) => worker.terminate()))
  })

  test('let the owner close in the end, after which attach() throws', { timeout: 600_000 }, async () => {
    const scope = NativeScope.ofShared()
    const code = `
      parentPort.postMessage('ready')
      let attached = 0
      for (;;) {
        try {
          scope.ResourceScope.attach(workerData).scope.detach()
          attached++
        } catch (error) {
          if (error.code !== 'TENON_SCOPE_CLOSED') throw error
          break
        }
      }
      parentPort.postMessage(attached)
    `
    const workers = Array.from({ length: 3 }, () => startWorker(code, scope.share()))
    await Promise.all(workers.map((worker) => nextMessage(worker)))
    const results = Promise.all(workers.map((worker) => nextMessage<number>(worker)))
    await scope.closeAsync()
    expect((await results).every((attached) => attached >= 0)).toBe(true)
    await Promise.all(workers.map(async (worker) => worker.terminate()))
  })

  test('unrelated scopes do not keep each other open', () => {
    const scopes = Array.from({ length: 50 }, () => NativeScope.ofShared())
    const busy = Array.from({ length: 50 }, () => {
      const scope = NativeScope.ofShared()
      return [scope, scope.acquire()] as const
    })
    for (const scope of scopes) scope.close()
    expect(scopes.some(({ isAlive }) => isAlive)).toBe(false)
    for (const [scope, hold] of busy) {
      hold.release()
      scope.close()
    }
  })
})
