import { ArgumentError, tensor } from '@tenon/core'
import { s64, typedHandler, type TypedPrepareOptions } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { kernels } from './kernels.ts'

const handler = typedHandler(kernels, 'run_facts')

/** Returns the run ids and device ordinals of two synchronous runs and an asynchronous one. */
async function factsOf(options: TypedPrepareOptions): Promise<(readonly [run: bigint, device: bigint])[]> {
  using call = handler.prepare({ ...options, results: [s64([2])] })
  const outs = [0, 1, 2].map(() => tensor('s64', [2]))
  call.run([], [outs[0]!])
  call.run([], [outs[1]!])
  await call.runAsync([], [outs[2]!])
  return outs.map((out) => out.toArray() as unknown as readonly [bigint, bigint])
}

describe('a handler can ask for', () => {
  test('a run id, which differs for each run', async () => {
    const runs = (await factsOf({})).map(([run]) => run)
    expect(new Set(runs).size).toBe(3)
    for (const run of runs) expect(run).toBeGreaterThan(0n)
  })

  test('the device that the call was prepared for', async () => {
    const devices = async (options: TypedPrepareOptions): Promise<bigint[]> =>
      (await factsOf(options)).map(([, device]) => device)
    expect(await devices({})).toStrictEqual([-1n, -1n, -1n])
    expect(await devices({ deviceOrdinal: 3 })).toStrictEqual([3n, 3n, 3n])
  })

  test('both with headers of 0.1 from 2025', () => {
    using call = typedHandler(kernels, 'run_facts_v1').prepare({ results: [s64([2])], deviceOrdinal: 5 })
    const out = tensor('s64', [2])
    call.run([], [out])
    const [run, ordinal] = out.toArray() as [bigint, bigint]
    expect([run > 0n, ordinal]).toStrictEqual([true, 5n])
  })

  test.each([-1, 1.5, 2 ** 31, NaN, '0', null])('no device with the ordinal %s, which is refused', (deviceOrdinal) => {
    expect(() => handler.prepare({ results: [s64([2])], deviceOrdinal: deviceOrdinal as never })).toThrow(ArgumentError)
  })
})
