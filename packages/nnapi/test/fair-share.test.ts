import { expect, test } from 'vitest'
import { unlimitedBudget } from '../src/server/budget.ts'
import { Client } from '../src/server/client.ts'
import { ClientPools } from '../src/server/client-pools.ts'
import { Conversation } from '../src/server/conversation.ts'
import { HEADER_SIZE, operations, writeHeader } from '../src/wire/frame.ts'
import { limitsOf } from '../src/engine/limits.ts'
import { buildModel, cpuKernels, type Kernel, localDriver, operandSlice } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import type { Link } from '../src/link/link.ts'
import { platform } from '@tenon/pools/internal'
import { expectFailure } from './support.ts'

const buffer = () => {
  const memory = new ArrayBuffer(1024)
  return { bytes: Buffer.from(memory), view: new DataView(memory) }
}

test('a client that never stops sending does not take the turns of others', () => {
  const [sent, received] = [buffer(), buffer()]
  const counts = { received: 0, sent: 0 }
  const link: Link = {
    sent,
    received,
    send: () => void counts.sent++,
    receive() {
      if (++counts.received > 10_000) throw new Error('it would go on for ever')
      writeHeader(received.view, HEADER_SIZE, { operation: operations.EXECUTE, id: counts.received, rings: true })
      return []
    },
    call: () => undefined,
    close: () => {},
  }
  const limits = limitsOf(undefined)
  const budget = unlimitedBudget()
  const client = new Client({ kernels: cpuKernels, allocate: undefined, limits, budget })
  const turns = {
    run: <T>(_: unknown, __: unknown, run: () => T): T => run(),
    mayWait: () => true,
    ready: () => {},
    watchOf: () => ({ add: () => {}, remove: () => {} }),
    join: () => ({}),
  }
  const conversation = new Conversation(1, link, { client, pools: new ClientPools(limits, budget) }, turns)
  conversation.read(0, false)
  expect(counts.received).toBeGreaterThan(limits.requests)
  while (conversation.waiting > 0) conversation.runNext()
  // Each is answered, if only with a refusal.
  expect(counts.sent).toBe(counts.received)
  conversation.close()
})

test('slicing an input of a kernel copies it', async () => {
  let copy = new Uint8Array()
  const kernel: Kernel = {
    plan: ([x]) => ({
      dimensions: [x!.dimensions],
      run([from], [to]) {
        copy = from!.slice()
        to!.fill(7)
      },
    }),
  }
  await using driver = localDriver({ kernels: new Map([['COPY', kernel]]) })
  const type = { type: 'TENSOR_INT32', dimensions: [2] } as const
  using model = buildModel((g) => g.output(g.operation('COPY', [g.input('TENSOR_INT32', [2])], type)))
  using prepared = await driver.prepare(model)
  using pool = createPool(64)
  pool.write(16, new Int32Array([1, 2]))
  prepared.run({ inputs: [pool.slice(16, 8)], outputs: [pool.slice(32, 8)] })
  pool.write(16, new Int32Array([3, 4]))
  expect([...new Int32Array(copy.buffer)]).toEqual([1, 2])
  expect(pool.read(32, 8)).toEqual(new Uint8Array(8).fill(7))
})

test('copies of values that cannot be used in place are limited', async () => {
  await using driver = localDriver({ limits: { workingBytes: 4096 } })
  const type = { type: 'TENSOR_FLOAT32', dimensions: [512] } as const
  using model = buildModel((g) => g.output(g.operation('RELU', [g.input('TENSOR_FLOAT32', [512])], type)))
  using prepared = await driver.prepare(model)
  using pool = createPool(8192)
  const executeAt = (input: number, output: number) =>
    prepared.run({ inputs: [pool.slice(input, 2048)], outputs: [pool.slice(output, 2048)] })
  expect(executeAt(1, 4097).outputs[0]!.dimensions).toEqual([512])
  using large = buildModel((g) =>
    g.output(g.operation('RELU', [g.input('TENSOR_FLOAT32', [513])], { type: 'TENSOR_FLOAT32', dimensions: [513] })),
  )
  using other = await driver.prepare(large)
  const args = (at: number) => ({ inputs: [pool.slice(at, 2052)], outputs: [pool.slice(4096 + at, 2052)] })
  await expectFailure(() => other.run(args(1)), 'RESOURCE_EXHAUSTED_TRANSIENT')
  if (platform.hasViews()) expect(other.run(args(0)).outputs[0]!.dimensions).toEqual([513])
})

test.each(['RESHAPE', 'TRANSPOSE'])('%s does not read numbers that it has no use for', async (operation) => {
  await using driver = localDriver()
  const count = 2 ** 29
  const type = { type: 'TENSOR_FLOAT32', dimensions: [0] } as const
  using model = buildModel((g) =>
    g.output(g.operation(operation, [g.input('TENSOR_FLOAT32', [2]), g.input('TENSOR_INT32', [0])], type)),
  )
  using prepared = await driver.prepare(model)
  // None of its pages is ever touched.
  using pool = createPool(4 * count + 64)
  const args = {
    inputs: [pool.slice(0, 8), operandSlice(pool, 64, 'TENSOR_INT32', [count])],
    outputs: [pool.slice(16, 8)],
  }
  await expectFailure(() => prepared.run(args), 'INVALID_ARGUMENT')
})
