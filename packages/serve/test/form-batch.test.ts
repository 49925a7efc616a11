import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readBatching } from '../src/scheduler/batching-options.ts'
import { formBatch } from '../src/scheduler/form-batch.ts'
import type { Job } from '../src/scheduler/job.ts'

const job = (size: number, arrived = 0, key = 'a'): Job => ({ size, key, request: { arrived } }) as Job

const sizesOf = (decision: ReturnType<typeof formBatch>): unknown =>
  'jobs' in decision ? decision.jobs.map(({ size }) => size) : decision

describe('a free instance', () => {
  const waiting = [job(2), job(1), job(3), job(4)]

  test('takes what is there if there is no delay', () => {
    expect(sizesOf(formBatch(waiting, readBatching(16, {}), 0))).toEqual([2, 1, 3, 4])
    expect(sizesOf(formBatch(waiting, readBatching(6, {}), 0))).toEqual([2, 1, 3])
    expect(sizesOf(formBatch(waiting, readBatching(5, {}), 0))).toEqual([2, 1])
    expect(sizesOf(formBatch([job(1), job(1)], readBatching(0, {}), 0))).toEqual([1])
  })

  test('takes the largest preferred size that the first requests make, at once', () => {
    const batching = (...preferredBatchSize: number[]) =>
      readBatching(16, { preferredBatchSize, maxQueueDelayMicroseconds: 1000 })
    expect(sizesOf(formBatch(waiting, batching(3), 0))).toEqual([2, 1])
    expect(sizesOf(formBatch(waiting, batching(3, 6), 0))).toEqual([2, 1, 3])
    expect(sizesOf(formBatch(waiting, batching(5), 0))).toEqual({ wait: 1 })
  })

  test('waits until the oldest request has waited for the delay, or the batch is full', () => {
    const batching = readBatching(8, { maxQueueDelayMicroseconds: 5000 })
    expect(sizesOf(formBatch([job(2, 10), job(1, 12)], batching, 13))).toEqual({ wait: 2 })
    expect(sizesOf(formBatch([job(2, 10), job(1, 12)], batching, 15))).toEqual([2, 1])
    expect(sizesOf(formBatch([job(2, 10), job(6, 12), job(1, 12)], batching, 13))).toEqual([2, 6])
    expect(sizesOf(formBatch([job(2, 10), job(7, 12)], batching, 13))).toEqual([2])
  })

  test('joins only requests with the same shapes and parameters', () => {
    expect(sizesOf(formBatch([job(1), job(2), job(3, 0, 'b'), job(4)], readBatching(16, {}), 0))).toEqual([1, 2])
  })

  test('property: a batch is a prefix of the queue, within the limit, and never empty', () => {
    const jobs = fc.array(
      fc.record({
        size: fc.integer({ min: 1, max: 8 }),
        arrived: fc.integer({ min: 0, max: 20 }),
        key: fc.constantFrom('a', 'b'),
      }),
      { minLength: 1, maxLength: 20 },
    )
    fc.assert(
      fc.property(
        jobs,
        fc.uniqueArray(fc.integer({ min: 1, max: 8 })),
        fc.nat({ max: 10_000 }),
        (queued, preferred, delay) => {
          const jobsOf = queued.map(({ size, arrived, key }) => job(size, arrived, key))
          const batching = readBatching(8, { preferredBatchSize: preferred, maxQueueDelayMicroseconds: delay })
          const decision = formBatch(jobsOf, batching, 20)
          if ('wait' in decision) {
            expect(decision.wait).toBeGreaterThan(0)
            // The sum of a time and a delay is rounded.
            expect(decision.wait).toBeLessThanOrEqual(delay / 1000 + 1e-9)
            return
          }
          const { length } = decision.jobs
          expect(length).toBeGreaterThan(0)
          expect(decision.jobs).toEqual(jobsOf.slice(0, length))
          expect(decision.jobs.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(8)
        },
      ),
    )
  })
})

describe('the options of batches', () => {
  test('have the defaults of Triton', () => {
    expect(readBatching(4, undefined)).toMatchObject({
      preferredSizes: [],
      delay: 0,
      preserveOrdering: false,
      levels: 1,
      defaultLevel: 1,
    })
    expect(readBatching(4, undefined).policyOf(1)).toEqual({
      timeoutAction: 'reject',
      defaultTimeoutMicroseconds: 0,
      allowTimeoutOverride: true,
      maxQueueSize: 1024,
    })
  })

  test('are checked', () => {
    expect(() => readBatching(-1, {})).toThrow('maxBatchSize must be a whole number from 0')
    expect(() => readBatching(4, { preferredBatchSize: [5] })).toThrow('at most maxBatchSize (4), got 5')
    expect(() => readBatching(4, { defaultPriorityLevel: 2 })).toThrow('at most priorityLevels (1), got 2')
    expect(() => readBatching(4, { maxDelay: 1 } as object)).toThrow('must not have the option "maxDelay"')
    expect(() => readBatching(4, { defaultQueuePolicy: { timeoutAction: 'drop' as 'delay' } })).toThrow(
      "'reject' or 'delay'",
    )
  })
})
