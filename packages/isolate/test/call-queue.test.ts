import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CallQueue, type Queued, workerIndexOf } from '../src/host/call-queue.ts'

const PRIORITIES = ['high', 'medium', 'low'] as const

interface Named extends Queued {
  readonly name: number
}

let names = 0
const item = (priority: Queued['priority'] = 'medium', workerIndex = -1, weight = 1): Named => {
  return {
    name: names++,
    priority,
    workerIndex,
    isWarmUp: false,
    weight,
    queueBefore: undefined,
    queueAfter: undefined,
    queueNumber: 0,
  }
}

describe('CallQueue', () => {
  test('take() returns calls of a higher priority first, and then the oldest', () => {
    const queue = new CallQueue<Named>(1)
    const [low, first, second, high] = [item('low'), item(), item(), item('high')]
    for (const added of [low, first, second, high]) queue.add(added)
    expect([0, 1, 2, 3, 4].map(() => queue.take(0))).toEqual([high, first, second, low, undefined])
  })

  test('take() leaves calls for the worker that they name', () => {
    const queue = new CallQueue<Named>(2)
    const [mine, any] = [item('medium', 1), item()]
    queue.add(mine)
    queue.add(any)
    expect(queue.take(0)).toBe(any)
    expect(queue.take(0)).toBeUndefined()
    expect(queue.take(1)).toBe(mine)
    expect(queue).toHaveLength(0)
  })

  test('a call that lost its worker goes before those that arrived later', () => {
    const queue = new CallQueue<Named>(1)
    const [lost, other] = [item(), item()]
    queue.add(other)
    queue.addFirst(lost)
    expect(queue.take(0)).toBe(lost)
  })

  test('any sequence of operations agrees with a sorted list', () => {
    const operation = fc.record({
      kind: fc.constantFrom('add', 'addFirst', 'take', 'remove'),
      priority: fc.constantFrom(...PRIORITIES),
      workerIndex: fc.integer({ min: -1, max: 2 }),
      weight: fc.integer({ min: 1, max: 32 }),
      pick: fc.nat(100),
    })
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 80 }), (operations) => {
        const queue = new CallQueue<Named>(3)
        let model: Named[] = []
        for (const { kind, priority, workerIndex, weight, pick } of operations) {
          if (kind === 'add' || kind === 'addFirst') {
            const added = item(priority, workerIndex, weight)
            queue[kind](added)
            model = kind === 'add' ? [...model, added] : [added, ...model]
          } else if (kind === 'remove' && model.length > 0) {
            const [removed] = model.splice(pick % model.length, 1)
            expect(queue.has(removed!)).toBe(true)
            queue.remove(removed!)
            expect(queue.has(removed!)).toBe(false)
          } else if (kind === 'take') {
            const mine = Math.max(workerIndex, 0)
            const eligible = model.filter((queued) => queued.workerIndex === -1 || queued.workerIndex === mine)
            const expected = PRIORITIES.flatMap((of) => eligible.filter((queued) => queued.priority === of))[0]
            expect(queue.take(mine)?.name).toBe(expected?.name)
            model = model.filter((queued) => queued !== expected)
          }
          expect(queue.length).toBe(model.reduce((sum, queued) => sum + queued.weight, 0))
          expect([...queue].map(({ name }) => name).toSorted()).toEqual(model.map(({ name }) => name).toSorted())
        }
      }),
    )
  })
})

test('workerIndexOf() spreads keys over all workers, and does not change its mind', () => {
  const counts = [0, 0, 0, 0]
  for (let index = 0; index < 4000; index++) counts[workerIndexOf(`session-${index}`, 4)]!++
  for (const count of counts) expect(count).toBeGreaterThan(800)
  expect(workerIndexOf('session-7', 4)).toBe(workerIndexOf('session-7', 4))
})
