import { readFileSync } from 'node:fs'
import { isSanitized } from '@tenon/config/sanitizer'
import { describe, expect, test } from 'vitest'
import { KernelMemoryError } from '../src/host/errors.ts'
import type { WorkerCall } from '../src/host/worker-call.ts'
import { Workers } from '../src/host/workers.ts'
import { Bench, DOUBLED, FAULT, ReportedError } from './faulty.ts'
import { failureOf } from './support.ts'

const unlimited = { limit: Infinity, backoff: 0 }

// The shadow memory of AddressSanitizer needs more addresses.
const leftovers = isSanitized ? (['DESCRIPTORS'] as const) : (['DESCRIPTORS', 'ADDRESSES'] as const)

describe('a worker whose earlier calls have left too little for further ones', () => {
  test.each(leftovers.flatMap((fault) => [false, true].map((guard) => ({ fault, guard }))))(
    'is replaced, and the call runs in the next one: $fault with guard $guard',
    async ({ fault, guard }) => {
      using bench = new Bench()
      await using workers = await Workers.open({ guard, restart: { limit: 0 } })
      for (const run of [
        async (other: Bench) => workers.run(other.call(FAULT.NONE)),
        async (other: Bench) => workers.runAsync(other.call(FAULT.NONE)),
        async (other: Bench) => {
          const calls = [0, 1, 2].map(() => other.call(FAULT.NONE))
          const [first, ...others] = await workers.runBatch(calls)
          expect(others).toEqual([first, first])
          return (first as PromiseFulfilledResult<unknown>).value
        },
      ]) {
        expect(workers.run(bench.call(FAULT[fault]))).toEqual(DOUBLED)
        const before = workers.metrics().restarts
        // Its memory is new for the worker.
        using other = new Bench()
        expect(await run(other)).toEqual(DOUBLED)
        expect(workers.metrics().restarts).toBe(before + 1)
        expect(other.released).toBeGreaterThan(0)
      }
      expect(workers.metrics().failures).toEqual({})
    },
  )

  // The allocator of AddressSanitizer does not record what it refuses.
  if (!isSanitized) {
    test('is not replaced for a failure of its first call, which another worker would repeat', async () => {
      using bench = new Bench()
      await using workers = await Workers.open({ memory: '32 MiB', restart: unlimited })
      const body = new Uint8Array(64 << 20)
      const big = (): WorkerCall<number[]> => bench.call(FAULT.NONE, { body })
      expect((await failureOf(() => workers.run(big()))).message).toContain('no memory for a request of 67108864 bytes')
      expect(workers.metrics().restarts).toBe(0)
      // The second worker has the call as its first one.
      expect((await failureOf(() => workers.run(big()))).message).toContain('no memory for a request of 67108864 bytes')
      expect(workers.metrics().restarts).toBe(1)
      expect(workers.run(bench.call(FAULT.NONE))).toEqual(DOUBLED)
    })

    test('is replaced after a KernelMemoryError, so that what it kept is free', async () => {
      using bench = new Bench()
      await using workers = await Workers.open({ memory: '256 MiB', restart: { limit: 0 } })
      const outcomes: string[] = []
      for (let i = 0; i < 12; i++) {
        try {
          workers.run(bench.call(FAULT.LEAK))
          outcomes.push('ok')
        } catch (error) {
          expect(error).toBeInstanceOf(KernelMemoryError)
          outcomes.push('memory')
        }
      }
      expect(outcomes.filter((one) => one === 'ok').length).toBeGreaterThan(6)
      expect(workers.metrics().restarts).toBe(outcomes.filter((one) => one === 'memory').length)
      const error = await failureOf(() => workers.run(bench.call(FAULT.ERROR)))
      expect(error).toBeInstanceOf(ReportedError)
    })
  }
})

test.each(['native', 'node'] as const)(
  'a %s worker is ended before its client when the system lacks memory',
  async (host) => {
    await using workers = await Workers.open({ host })
    const [worker] = workers.health().workers
    expect(readFileSync(`/proc/${worker!.process}/oom_score_adj`, 'utf8')).toBe('1000\n')
  },
)
