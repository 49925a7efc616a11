import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { connectDriver, createPool } from '../src/index.ts'
import { operations } from '../src/channel/frame.ts'
import { closeDescriptor } from '../src/native/descriptor.ts'
import { PeerGone } from '../src/native/socket.ts'
import { RawClient } from './raw-client.ts'
import { Server } from './server.ts'
import { addModel, floats, handModel } from './support.ts'

export const limits = {
  pools: 20,
  poolBytes: 2 ** 33,
  models: 10,
  buffers: 10,
  bufferBytes: 4096,
  modelBytes: 2 ** 20,
  requests: 8,
  workingBytes: 2 ** 24,
}
export let server: Server
beforeAll(async () => {
  server = await Server.start(limits)
})
afterAll(() => server.stop())

/** An honest client is served. */
export async function expectServed(): Promise<void> {
  await using driver = await connectDriver({ path: server.path })
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  using pool = createPool(64)
  prepared.executeSync({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
  expect(floats(pool.read(8, 8))).toEqual([1, 2])
}

afterEach(async () => {
  expect(server.isRunning).toBe(true)
  await expectServed()
})

export const GONE = expect.any(PeerGone)

/** Runs a raw client, whose leavings must be gone afterwards. */
export async function attack(run: (client: RawClient) => void | Promise<void>): Promise<void> {
  const client = new RawClient(server.path)
  try {
    await run(client)
  } finally {
    client.close()
  }
  await server.isIdle()
}

/** Expects that the driver ends the connection. */
export const expectDisconnected = (client: RawClient): void => {
  let failure: unknown
  try {
    for (;;) client.receive()
  } catch (error) {
    failure = error
  }
  expect(failure).toEqual(GONE)
}

/** Registers a pool with what it is said to be, and prepares a model that names it: the answer's status and rule. */
export function statusOfPool(
  client: RawClient,
  descriptor: number,
  said: object,
): { status: number; rule: string | undefined } {
  client.send(
    operations.REGISTER_POOL,
    { id: 1, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true, ...said },
    [descriptor],
  )
  closeDescriptor(descriptor)
  const { header, body } = client.call(operations.PREPARE, { model: { ...handModel(), pools: [1] } })
  return {
    status: header.status,
    rule: header.status === 0 || body.field('rule').isMissing ? undefined : body.field('rule').string(),
  }
}
