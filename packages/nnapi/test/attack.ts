import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { connectDriver, type Request } from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { string } from '../src/wire/body.ts'
import { writeExecute } from '../src/wire/execute-frame.ts'
import { HEADER_SIZE, operations, readHeader } from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory } from '@tenon/pools/internal'
import { PeerGone } from '../src/link/link.ts'
import { RawClient } from './raw-client.ts'
import { argument } from './request-cases.ts'
import { Server } from './server.ts'
import { addModel, facts, floats, handModel, holdings, until } from './support.ts'

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
  await using driver = await connectDriver(server.path)
  using model = addModel([1, 2])
  using prepared = await driver.prepare(model)
  using pool = createPool(64)
  prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
  expect(floats(pool.read(8, 8))).toEqual([1, 2])
}

let before: string
beforeEach(() => {
  before = JSON.stringify(holdings())
})

/** The survivors serve on, with the descriptors, mappings and bytes that they had before. */
afterEach(async () => {
  expect(server.isRunning).toBe(true)
  await expectServed()
  await server.isIdle()
  await until(() => JSON.stringify(holdings()) === before, `this process holds ${before} again`)
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
    rule: header.status === 0 || body.field('rule').isMissing ? undefined : string(body.field('rule')),
  }
}

/** Sends a request to execute, as it is, and returns the answer's status. */
export function execute(client: RawClient, request: Request, names: readonly number[], isToken = false): number {
  const { bytes, view } = client.socket.sent
  const length = writeExecute(view, 1, request, (pool) => ({ isToken, id: names[request.pools.indexOf(pool)]! }))
  client.send(operations.EXECUTE, Buffer.from(bytes.subarray(HEADER_SIZE, length)))
  if (client.socket.receive(10_000) === undefined) throw new Error('no answer came')
  return readHeader(client.socket.received.view).status
}

/** Registers honest pools of a page each, and prepares the model by hand. */
export function begin(client: RawClient, pools: number): void {
  for (let id = 1; id <= pools; id++) {
    const descriptor = createSharedMemory(4096, 'honest')
    const said = { id, kind: 'shared', byteSize: 4096, byteOffset: 0, isWritable: true }
    client.send(operations.REGISTER_POOL, said, [descriptor])
    closeDescriptor(descriptor)
  }
  client.call(operations.PREPARE, { model: { ...handModel(), pools: [] } })
}

/** Launches a fenced execution with descriptors as they are. */
export const launch = (client: RawClient, id: number, descriptors: readonly number[], execution?: Uint8Array) => {
  const { bytes, view } = client.socket.sent
  const request = {
    inputs: [argument()],
    outputs: [argument({ location: { offset: 64 } })],
    pools: [facts()],
  }
  const length = writeExecute(view, 1, request, () => ({ isToken: false, id: 1 }))
  const frame = Buffer.from(bytes.subarray(0, length))
  frame.writeUInt32LE(0x4c4f_4f50, 0)
  frame.writeUInt16LE(1, 4)
  frame.writeUInt16LE(operations.EXECUTE, 6)
  frame.writeUInt32LE(length, 8)
  frame.fill(0, 12, 16)
  return client.call(operations.EXECUTE_FENCED, { id, execute: execution ?? frame }, descriptors).header.status
}
