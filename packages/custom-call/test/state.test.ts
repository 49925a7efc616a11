import { tensor } from '@tenon/core'
import { coreFunctions } from '@tenon/core/internal'
import { customCall, InvalidArgumentError, NotFoundError, s64, typedHandler } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { kernels, liveObjects } from './kernels.ts'

describe.each(['v1', 'v2', 'v3'])('a state, with the layout of %s', (version) => {
  const handler = typedHandler(kernels, {
    execute: `counter_${version}`,
    instantiate: `counter_${version}_instantiate`,
  })
  const prepare = (start: number): ReturnType<typeof handler.prepare> =>
    handler.prepare({ results: [s64([])], attrs: { start: s64(start) } })

  test('belongs to a handler with two stages', () => {
    expect(handler.stages).toStrictEqual(['instantiate', 'execute'])
    expect(handler.metadata.version).toBe(`0.${version.slice(1)}`)
  })

  test('belongs to one prepared call', () => {
    const [first, second] = [prepare(10), prepare(20)]
    const count = tensor('s64', [])
    const next = (call: ReturnType<typeof prepare>): unknown => {
      call.run([], [count])
      return count.toArray()[0]
    }
    expect([next(first), next(second), next(first), next(first), next(second)]).toStrictEqual([10n, 20n, 11n, 12n, 21n])
    first.close()
    expect(next(second)).toBe(22n)
    second.close()
  })

  test('is shared with the bound calls of the call', () => {
    const call = prepare(0)
    const count = tensor('s64', [])
    const bound = call.bind([], [count])
    bound.run()
    call.run([], [count])
    bound.run()
    expect(count.toArray()).toStrictEqual([2n])
    bound.close()
    call.close()
  })

  test('is destroyed when the call is closed or collected', async () => {
    const before = liveStates()
    prepare(0).close()
    expect(liveStates()).toBe(before)
    const dropMany = (): void => {
      for (let i = 0; i < 20; i++) prepare(i)
    }
    dropMany()
    expect(liveStates()).toBe(before + 20)
    for (let i = 0; i < 50 && liveStates() > before; i++) {
      globalThis.gc!()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(liveStates()).toBe(before)
  })

  test('is reported with its stage if the instantiate handler fails', () => {
    const before = liveObjects()
    expect(() => handler.prepare({ results: [s64([])], attrs: { start: 'zero' } })).toThrow(InvalidArgumentError)
    expect(() => handler.prepare({ results: [s64([])] })).toThrow(
      /^counter_v\d \(instantiate\) answered INVALID_ARGUMENT: .*attributes/,
    )
    expect(liveObjects()).toStrictEqual(before)
  })

  test('is made anew for each call as a function', () => {
    const counter = customCall(kernels, {
      execute: `counter_${version}`,
      instantiate: `counter_${version}_instantiate`,
    })
    const once = (): unknown => counter([], { results: [s64([])], attrs: { start: s64(5) } }).toArray()[0]
    expect([once(), once()]).toStrictEqual([5n, 5n])
  })
})

test('a handler gets NOT_FOUND for a state that was never set', () => {
  const call = typedHandler(kernels, 'counter_v3').prepare({ results: [s64([])] })
  expect(() => call.run([], [tensor('s64', [])])).toThrow(NotFoundError)
  call.close()
})

/** Counts the states of handlers in this process. */
function liveStates(): number {
  return Number(coreFunctions().tn_xla_live_states())
}
