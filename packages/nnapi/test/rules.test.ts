import { describe, expect, test } from 'vitest'
import { createFrozenPool, createImagePool, createPool, type Pool, type PoolFacts, shareReadOnly } from '@tenon/pools'
import type { Driver, Model, PreparedModel, Request } from '../src/index.ts'
import { brokenModels, validModels } from './model-cases.ts'
import { argument, brokenRequests, request, validRequests } from './request-cases.ts'
import { addModel, expectFailure, floats, handModel, homes, thrownBy, useAdder } from './support.ts'

/** Whether there are real pools like these: no tokens by themselves, and parts of files have tests of their own. */
const areReal = (facts: readonly PoolFacts[]): boolean =>
  facts.every(({ kind, identityOffset }) => kind === 'shared' && identityOffset === 0)

/** Real pools in place of what validators see. */
class RealPools {
  readonly #pools = new Map<string, Pool>()

  of(facts: readonly PoolFacts[]): readonly Pool[] {
    return facts.map((one) => this.#one(one))
  }

  #one({ rights, identity, byteSize }: PoolFacts): Pool {
    const key = `${identity} ${rights}`
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const pool = this.#make(rights, byteSize)
    this.#pools.set(key, pool)
    return pool
  }

  #make(rights: PoolFacts['rights'], byteSize: number): Pool {
    if (rights === 'frozen') return createFrozenPool(new Uint8Array(byteSize))
    const pool = createPool(byteSize)
    if (rights === 'writable') return pool
    const reader = shareReadOnly(pool)
    pool.close()
    return reader
  }

  [Symbol.dispose](): void {
    for (const pool of this.#pools.values()) pool.close()
  }
}

describe.each(homes)('the rules of a driver %s', (home, start) => {
  let driver: Driver
  let prepared: PreparedModel
  useAdder(start, (opened) => ({ driver, prepared } = opened))

  describe('models', () => {
    const cases = brokenModels.filter(([, rule, change]) => rule !== 'M11' && areReal(handModel(change).pools))
    test.each(cases)('%s is refused', async (_, rule, change) => {
      using pools = new RealPools()
      const given = handModel(change)
      const real = pools.of(given.pools)
      const error = await thrownBy(() => driver.prepare({ ...given, pools: real }))
      expect(error.status).toBe('INVALID_ARGUMENT')
      // What is no number of 32 bits doesn't get past the message, which has no rules.
      if (rule !== 'Q20' || home === 'in process') expect(error.rule).toBe(rule)
      await expectFailure(() => driver.supportedOperations({ ...given, pools: real }), 'INVALID_ARGUMENT')
    })

    test.each(validModels)('%s is allowed', async (_, change) => {
      using pools = new RealPools()
      const given = handModel(change)
      const real = { ...given, pools: pools.of(given.pools) }
      // The validator allows the model. Whether its operation can run is up to the kernel.
      expect(await driver.supportedOperations(real)).toHaveLength(1)
    })

    test('constants may overlap and have gaps', async () => {
      const values = new Uint8Array(64)
      new Float32Array(values.buffer).set([1, 2, 3, 4], 8)
      new Int32Array(values.buffer)[13] = 0
      const given = handModel((m) => {
        m.operandValues = values
        m.main.operands[1] = {
          ...m.main.operands[1]!,
          location: { poolIndex: 0, offset: 32, length: 16, padding: 0 },
        }
        m.main.operands[2] = {
          ...m.main.operands[2]!,
          location: { poolIndex: 0, offset: 52, length: 4, padding: 0 },
        }
      }) as Model<Pool>
      using own = await driver.prepare(given)
      using pool = createPool(128)
      own.run({ inputs: [pool.slice(0, 16)], outputs: [pool.slice(64, 16)] })
      expect(floats(pool.read(64, 16))).toEqual([1, 2, 3, 4])
    })

    test('values over 128 bytes are put into a pool', async () => {
      using large = addModel(Array.from({ length: 33 }, (_, i) => i))
      expect([large.pools.length, large.operandValues.length]).toEqual([1, 4])
      using small = addModel(Array.from({ length: 32 }, (_, i) => i))
      expect([small.pools.length, small.operandValues.length]).toEqual([0, 132])
      using own = await driver.prepare(large)
      using pool = createPool(512)
      own.run({ inputs: [pool.slice(0, 132)], outputs: [pool.slice(256, 132)] })
      expect(floats(pool.read(256, 132))).toEqual(Array.from({ length: 33 }, (_, i) => i))
    })

    test('constants in images are refused', async () => {
      using image = createImagePool({ width: 16, height: 1, format: 'R8_UNORM' })
      const given = handModel((m) => {
        m.main.operands[1] = {
          ...m.main.operands[1]!,
          lifetime: 'CONSTANT_POOL',
          location: { poolIndex: 0, offset: 0, length: 16, padding: 0 },
        }
      })
      await expectFailure(() => driver.prepare({ ...given, pools: [image] }), 'INVALID_ARGUMENT', 'M14')
    })

    test('subgraphs that reach themselves are refused', async () => {
      const subgraph = (offset: number): Model['main'] => ({
        ...handModel().main,
        operands: [
          ...handModel().main.operands,
          {
            ...handModel().main.operands[2]!,
            type: 'SUBGRAPH',
            lifetime: 'SUBGRAPH',
            location: { poolIndex: 0, offset, length: 0, padding: 0 },
          },
        ],
      })
      const cyclic = { ...handModel(), main: subgraph(0), referenced: [subgraph(0)], pools: [] }
      await expectFailure(() => driver.prepare(cyclic), 'INVALID_ARGUMENT', 'M15')
    })
  })

  describe('requests', () => {
    const runs = async (given: Model, asked: Request, check: (run: () => unknown) => Promise<void>): Promise<void> => {
      using pools = new RealPools()
      // What constants lie in, requests may write elsewhere: one pool for both.
      const constants = pools.of(given.pools.map((facts) => ({ ...facts, rights: 'writable' })))
      const real = pools.of(asked.pools)
      using own = await driver.prepare({ ...given, pools: constants })
      await check(() => own.run({ ...asked, pools: real }))
      await check(() => own.runAsync({ ...asked, pools: real }))
    }

    const refused = brokenRequests.filter(([, , , { pools }]) => areReal(pools))
    test.each(refused)('%s is refused', async (_, rule, given, wrong) => {
      await runs(given, wrong, async (run) => {
        await expectFailure(run, 'INVALID_ARGUMENT', rule)
      })
    })

    const allowed = validRequests.filter(
      ([what, , { pools }]) => what !== 'an input that is left out' && areReal(pools),
    )
    test.each(allowed)('%s is allowed', async (_, given, right) => {
      await runs(given, right, async (run) => {
        expect(await run()).toMatchObject({ outputs: [{ isSufficient: true }] })
      })
    })

    test('a length of 0 is refused', async () => {
      using pool = createPool(4096)
      const own = (await driver.prepare(handModel() as Model<Pool>)) as PreparedModel
      using _ = own
      const empty = request({ inputs: [argument({ location: { length: 0 } })] })
      await expectFailure(() => own.run({ ...empty, pools: [pool] }), 'INVALID_ARGUMENT', 'Q5')
      const zero = request({ inputs: [argument({ dimensions: [0] })] })
      await expectFailure(() => own.run({ ...zero, pools: [pool] }), 'INVALID_ARGUMENT', 'Q6')
    })

    test('inputs and the bytes around them are never written', async () => {
      using pool = createPool(8192)
      using output = createPool(64)
      const before = new Uint8Array(8192).map((_, i) => (i * 7) % 251)
      pool.write(0, before)
      prepared.run({ inputs: [pool.slice(4000, 8)], outputs: [output.slice(0, 8)] })
      await prepared.runAsync({ inputs: [pool.slice(4093, 8)], outputs: [output.slice(0, 8)] })
      expect(pool.read(0)).toEqual(before)
    })

    test('an awaited execution settles once, whether it succeeds or not', async () => {
      using pool = createPool(64)
      let [fulfilled, rejected] = [0, 0]
      const count = (run: Promise<unknown>): Promise<void> =>
        run.then(
          () => void fulfilled++,
          () => void rejected++,
        )
      await Promise.all([
        count(prepared.runAsync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })),
        count(prepared.runAsync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(4, 8)] })),
        count(prepared.runAsync({ inputs: [], outputs: [] })),
      ])
      expect([fulfilled, rejected]).toEqual([1, 2])
    })

    test('illegal use fails before a byte is read or written', async () => {
      using pool = createPool(64)
      using frozen = createFrozenPool(new Uint8Array(64))
      pool.write(0, new Uint8Array(64).fill(9))
      const wrong = [
        { inputs: [pool.slice(0, 8)], outputs: [frozen.slice(0, 8) as never] },
        { inputs: [pool.slice(0, 8)], outputs: [pool.slice(4, 8)] },
        { inputs: [pool.slice(0, 12)], outputs: [pool.slice(16, 8)] },
      ]
      for (const args of wrong) await expectFailure(() => prepared.run(args), 'INVALID_ARGUMENT')
      expect(new Set(pool.read(0))).toEqual(new Set([9]))
    })
  })
})
