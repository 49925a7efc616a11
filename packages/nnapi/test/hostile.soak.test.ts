import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildModel, connectDriver, spawnDriver } from '../src/index.ts'
import { createPool, type PoolsError } from '@tenon/pools'
import { string } from '../src/wire/body.ts'
import { operations } from '../src/wire/frame.ts'
import { RawClient } from './raw-client.ts'
import { Server } from './server.ts'
import { addModel, floats } from './support.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
const [reads, guesses] = isSoak ? [100_000, 1_000_000] : [1000, 5000]

let server: Server
beforeAll(async () => {
  server = await Server.start()
})
afterAll(() => server.stop())

test(`${reads} shapes and indices that another process changes while they are read`, async () => {
  await using driver = await connectDriver(server.path)
  // The one who flips: it writes one of two values to where the other driver reads, again and again.
  await using flipper = await spawnDriver()
  using copying = buildModel((g) => {
    const x = g.input('TENSOR_INT32', [2])
    g.output(
      g.operation('RESHAPE', [x, g.constant('TENSOR_INT32', [1], [2])], { type: 'TENSOR_INT32', dimensions: [2] }),
    )
  })
  using reading = buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', [8])
    const shaping = g.input('TENSOR_INT32', [2])
    const reshaped = g.operation('RESHAPE', [x, shaping], { type: 'TENSOR_FLOAT32', dimensions: [0, 0] })
    const chosen = g.input('TENSOR_INT32', [2])
    g.output(
      g.operation('GATHER', [reshaped, g.scalar('INT32', 1), chosen], { type: 'TENSOR_FLOAT32', dimensions: [0, 0] }),
    )
  })
  using flip = await flipper.prepare(copying)
  using prepared = await driver.prepare(reading)
  using pool = createPool(4096)
  // Where the values come from: a good shape, good indices, and what is neither.
  const [shape, indices, bad] = [pool.slice(0, 8), pool.slice(64, 8), pool.slice(128, 8)]
  pool.write(0, new Int32Array([2, 4]))
  pool.write(64, new Int32Array([0, 1]))
  pool.write(128, new Int32Array([2 ** 30, -5]))
  const [values, flipping, output] = [pool.slice(256, 32), pool.slice(512, 8), pool.slice(2048, 512)]
  const requests = [
    { good: shape, args: { inputs: [values, flipping, indices], outputs: [output] } },
    { good: indices, args: { inputs: [values, shape, flipping], outputs: [output] } },
  ]
  const outcomes = new Set<string>()
  for (let i = 0; i < reads; i++) {
    const { good, args } = requests[i % 2]!
    const flips = [bad, good, bad, good].map((from) => flip.runAsync({ inputs: [from], outputs: [flipping] }))
    try {
      outcomes.add(`[${prepared.run(args).outputs[0]!.dimensions.join()}]`)
    } catch (error) {
      outcomes.add((error as PoolsError).status)
    }
    await Promise.all(flips)
  }
  // A good index or a bad one, a good shape or a bad one: nothing else can have been read.
  expect([...outcomes].toSorted()).toEqual(['GENERAL_FAILURE', 'INVALID_ARGUMENT', '[2,2]'])
  await driver.closeAsync()
  await server.isIdle()
})

test(`${guesses} guessed tokens have one answer`, async () => {
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
  using pool = createPool(64)
  pool.write(0, new Float32Array([3, 4]))
  await buffer.copyFrom(pool.slice(0, 8))
  const client = new RawClient(server.path)
  const answers = new Set<string>()
  for (let i = 0; i < guesses; i++) {
    const token = Math.floor(Math.random() * 2 ** 32)
    const { header, body } = client.call(operations.COPY_FROM, { token, pool: 1, offset: 0, length: 8, dimensions: [] })
    answers.add(`${header.status} ${string(body.field('sentence'))}`)
  }
  client.close()
  expect([...answers]).toEqual([expect.stringContaining('rule D31')])
  await buffer.copyTo(pool.slice(16, 8))
  expect(floats(pool.read(16, 8))).toEqual([3, 4])
})
