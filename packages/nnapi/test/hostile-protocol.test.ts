import { describe, expect, test } from 'vitest'
import { buildModel, connectDriver } from '../src/index.ts'
import { createPool, errorStatus } from '@tenon/pools'
import { encodeBody, string } from '../src/wire/body.ts'
import { HEADER_SIZE, operations, writeHeader } from '../src/wire/frame.ts'
import { closeDescriptor, createSharedMemory } from '@tenon/pools/internal'
import { RawClient } from './raw-client.ts'
import { addModel, expectFailure, handModel } from './support.ts'

import { attack, expectDisconnected, expectServed, GONE, server } from './attack.ts'

describe('tokens and roles', () => {
  test('tokens of another client and guessed tokens have the same answer', async () => {
    await using driver = await connectDriver(server.path)
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8))
    const { token } = buffer.facts.buffer as unknown as { token: number }
    const client = new RawClient(server.path)
    const answers = new Set<string>()
    for (let i = -1000; i <= 1000; i++) {
      const { header, body } = client.call(operations.COPY_FROM, {
        token: (token + i) >>> 0,
        pool: 1,
        offset: 0,
        length: 8,
        dimensions: [],
      })
      answers.add(`${header.status} ${string(body.field('sentence'))}`)
    }
    client.close()
    expect([...answers]).toEqual([expect.stringContaining('rule D31')])
    await buffer.copyTo(pool.slice(0, 8))
  })

  test('tokens are not consecutive, and are never reused', async () => {
    await using driver = await connectDriver(server.path)
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const tokens: number[] = []
    for (let i = 0; i < 500; i++) {
      using buffer = await driver.allocate({ roles: [prepared.input(0)] })
      tokens.push((buffer.facts.buffer as unknown as { token: number }).token)
    }
    expect(new Set(tokens).size).toBe(500)
    expect(tokens.every((token, i) => i === 0 || Math.abs(token - tokens[i - 1]!) > 1)).toBe(true)
  })
})

describe('messages that are not of the protocol', () => {
  test.each([
    ['an unknown operation', (client: RawClient) => client.send(13, {})],
    ['a reply', (client: RawClient) => client.send(operations.HELLO, {}, [], { isReply: true })],
    [
      'another length',
      (client: RawClient) => {
        writeHeader(client.socket.sent.view, 41, { operation: operations.CANCEL, id: 1 })
        client.socket.send(HEADER_SIZE, [], 100)
      },
    ],
    [
      'descriptors that nobody asked for',
      (client: RawClient) => {
        const descriptor = createSharedMemory(64, 'gift')
        client.send(operations.EXECUTE, encodeBody({}), [descriptor])
        closeDescriptor(descriptor)
      },
    ],
    ['a request to execute that is none', (client: RawClient) => client.send(operations.EXECUTE, new Uint8Array(20))],
    [
      'noise',
      (client: RawClient) => {
        client.socket.sent.bytes.fill(0xa5, 0, 1000)
        client.socket.send(1000, [], 100)
      },
    ],
  ])('%s ends the connection', async (_, send) => {
    await attack((client) => {
      send(client)
      expectDisconnected(client)
    })
  })

  test.each([
    ['not MessagePack', Uint8Array.of(0xc1, 1, 2)],
    ['cut off', encodeBody({ model: {} }).subarray(0, 4)],
    ['a number', encodeBody(5)],
    ['nothing of what it should have', encodeBody({})],
    ['a list that says it is long', Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['fields of the wrong kind', encodeBody({ model: { main: [], referenced: {}, operandValues: 'x', pools: 1 } })],
    ['keys of Object.prototype', encodeBody({ model: JSON.parse('{"__proto__": {"main": 1}}') as object })],
    ['a tree as deep as fits', new Uint8Array(60_000).fill(0x91)],
  ])('a body that is %s is refused', async (_, body) => {
    await attack((client) => {
      const { header } = client.call(operations.PREPARE, body)
      expect(header.status).toBe(errorStatus.INVALID_ARGUMENT)
      client.hello()
    })
  })

  test('models that break rules are refused with the number of the rule', async () => {
    await attack((client) => {
      const model = handModel((m) => (m.main.outputIndexes = [0]))
      const { header, body } = client.call(operations.PREPARE, { model })
      expect([header.status, string(body.field('rule'))]).toEqual([errorStatus.INVALID_ARGUMENT, 'M16'])
    })
  })

  test('unknown models, pools and buffers are refused', async () => {
    await attack((client) => {
      client.send(operations.RELEASE_POOL, { id: 5 })
      client.send(operations.RELEASE_POOL, { id: 5 })
      client.send(operations.RELEASE_MODEL, { id: 5 })
      client.send(operations.RELEASE_BUFFER, { token: 5 })
      client.send(operations.CANCEL, { id: 5 })
      expect(
        client.call(operations.COPY_FROM, { token: 5, pool: 1, offset: 0, length: 8, dimensions: [] }).header.status,
      ).toBe(errorStatus.INVALID_ARGUMENT)
      expect(client.call(operations.PREPARE, { model: { ...handModel(), pools: [7] } }).header.status).toBe(
        errorStatus.INVALID_ARGUMENT,
      )
      expect(
        string(
          client
            .call(operations.ALLOCATE, {
              models: [0],
              description: {
                dimensions: [],
                inputRoles: [{ modelIndex: 0, ioIndex: 0, frequency: 1 }],
                outputRoles: [],
              },
            })
            .body.field('rule'),
        ),
      ).toBe('D4')
    })
  })

  test('a client that never reads its answers is disconnected, and others are served meanwhile', async () => {
    await attack(async (client) => {
      const flood = async (): Promise<void> => {
        for (let i = 0; i < 5000; i++) {
          client.send(operations.COPY_TO, { token: 5, pool: 1, offset: 0, length: 8 })
          if (i % 100 === 0) await expectServed()
        }
      }
      await expect(flood()).rejects.toEqual(GONE)
    })
  })

  test('errors of kernels are reported without their messages', async () => {
    await using driver = await connectDriver(server.path)
    using model = buildModel((g) =>
      g.output(g.operation('FAIL', [g.input('TENSOR_FLOAT32', [2])], { type: 'TENSOR_FLOAT32', dimensions: [2] })),
    )
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    const error = await expectFailure(
      () => prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] }),
      'GENERAL_FAILURE',
    )
    expect(error.message).not.toMatch(/secret|0x/)
  })

  test('a connection that sends no message uses no other resources', async () => {
    await attack(async () => {
      const silent = Array.from({ length: 30 }, () => new RawClient(server.path))
      await expectServed()
      for (const client of silent) client.close()
    })
  })
})
