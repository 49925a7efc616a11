import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import {
  buildModel,
  type Driver,
  localDriver,
  type Model,
  type ModelBuilder,
  type Operand,
  type PreparedModel,
  spawnDriver,
  workerDriver,
} from '../src/index.ts'
import { type PoolFacts, PoolsError, poolUsage } from '@tenon/pools'
import { platform } from '@tenon/pools/internal'

/** Files are mapped where processes share memory by descriptor. */
export const hasFiles = platform.sharesDescriptors()

/** The homes that a driver can have: every rule must hold in each. */
export const homes: readonly (readonly [string, () => Driver | Promise<Driver>])[] = [
  ['in process', localDriver],
  ['in a worker', workerDriver],
  ...(hasFiles ? ([['in a child process', spawnDriver]] as const) : []),
]

/** What something threw. */
export async function thrownBy(run: () => unknown): Promise<PoolsError> {
  try {
    await run()
  } catch (error) {
    expect(error).toBeInstanceOf(PoolsError)
    return error as PoolsError
  }
  throw new Error('it did not throw')
}

/** Expects a failure with a status and, if given, a rule. */
export async function expectFailure(run: () => unknown, status: string, rule?: string): Promise<PoolsError> {
  const error = await thrownBy(run)
  expect({ status: error.status, rule: rule === undefined ? undefined : error.rule }).toEqual({ status, rule })
  return error
}

/** What this process holds: descriptors, mappings and their bytes. */
export function holdings(): { descriptors: number; mappings: number; mappedBytes: number } {
  // The directory that is read has a descriptor too: it is the same each time.
  return { descriptors: readdirSync('/proc/self/fd').length, ...poolUsage() }
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean, what: string | (() => string)): Promise<void> {
  const end = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`it did not come about in time: ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What this process holds when nothing is being given back any more, as text. A driver gives back a moment later. */
async function steadyHoldings(): Promise<string> {
  for (let before = JSON.stringify(holdings()); ;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const now = JSON.stringify(holdings())
    if (now === before) return now
    before = now
  }
}

/** Runs something and expects that everything it held is given back, at the latest a moment later. */
export async function expectNoLeaks(run: () => unknown): Promise<void> {
  const text = await steadyHoldings()
  await run()
  await until(
    () => JSON.stringify(holdings()) === text,
    `it holds what it held before, ${text}; at first ${JSON.stringify(holdings())}`,
  )
}

/** Waits until a driver has done everything that was asked of it: what it gives back is given back then. */
export async function settled(driver: Driver): Promise<void> {
  using model = addModel([1])
  await driver.supportedOperations(model)
}

/** An operand for models written by hand. */
export function operand(fields: Partial<Operand> = {}): Operand {
  const location = { poolIndex: 0, offset: 0, length: 0, padding: 0, ...fields.location }
  return {
    type: 'TENSOR_FLOAT32',
    dimensions: [4],
    scale: 0,
    zeroPoint: 0,
    lifetime: 'TEMPORARY_VARIABLE',
    ...fields,
    location,
  }
}

/** A pool as validators see it. */
export function facts(fields: Partial<PoolFacts> = {}): PoolFacts {
  return { kind: 'shared', byteSize: 4096, rights: 'writable', identity: '1:1', identityOffset: 0, ...fields }
}

/** A valid model by hand: one ADD of an input and a copied constant, with changes. */
export function handModel(change: (model: MutableModel) => void = () => {}): Model {
  const main = {
    operands: [
      operand({ lifetime: 'SUBGRAPH_INPUT' }),
      operand({ lifetime: 'CONSTANT_COPY', location: { poolIndex: 0, offset: 0, length: 16, padding: 0 } }),
      operand({
        type: 'INT32',
        dimensions: [],
        lifetime: 'CONSTANT_COPY',
        location: { poolIndex: 0, offset: 16, length: 4, padding: 0 },
      }),
      operand({ lifetime: 'SUBGRAPH_OUTPUT' }),
    ],
    operations: [{ type: 'ADD', inputs: [0, 1, 2], outputs: [3] }],
    inputIndexes: [0],
    outputIndexes: [3],
  }
  const model = { main, referenced: [], operandValues: new Uint8Array(20), pools: [] }
  change(model)
  return model
}

/** A model that tests may change. */
type MutableModel = { -readonly [K in keyof Omit<Model, 'main'>]: Model[K] } & { main: Mutable<Model['main']> }

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] }

/** x + constant, for [n] floats. */
export function addModel(
  values: readonly number[],
  dimensions: readonly number[] = [values.length],
): ReturnType<typeof buildModel> {
  return buildModel((g: ModelBuilder) => {
    const x = g.input('TENSOR_FLOAT32', dimensions)
    const y = g.constant('TENSOR_FLOAT32', [values.length], values)
    g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions }))
  })
}

/**
 * For the tests of a `describe`: a driver, with a model prepared in it that adds [1, 2]. It is settled before each test, and closed
 * after all of them.
 */
export function useAdder(
  start: () => Driver | Promise<Driver>,
  take: (opened: { readonly driver: Driver; readonly prepared: PreparedModel }) => void,
): void {
  let driver: Driver
  let model: ReturnType<typeof addModel>
  beforeAll(async () => {
    driver = await start()
    model = addModel([1, 2])
    take({ driver, prepared: await driver.prepare(model) })
  })
  afterAll(async () => {
    await driver.closeAsync()
    model[Symbol.dispose]()
  })
  beforeEach(() => settled(driver))
}

/** The floats in bytes. */
export const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)]
