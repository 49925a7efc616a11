import { defineModel } from '../src/index.ts'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { double, heldModel } from './models.ts'
import { connectTo, inferHead, inferText, input, Served } from './support.ts'

test('connections on which nothing comes do not keep a server from closing', async () => {
  const served = await Served.start([double])
  const silent = connect(served.server.port, '127.0.0.1')
  await once(silent, 'connect')
  expect(await served.server.closeAsync({ deadline: 20_000 })).toBe(true)
})

test('a request that comes too slowly gets 408 while the server closes', async () => {
  const served = await Served.start([double], { requestTimeout: 2000 })
  const { socket, received } = connectTo(served)
  socket.write(`${inferHead('double', 100)}{`)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(await served.server.closeAsync({ deadline: 20_000 })).toBe(true)
  expect(received()).toMatch(/^HTTP\/1\.1 408 /)
})

test('an answer that waits behind another one when the server closes ends its connection', async () => {
  const { model: slow, begun, finish } = heldModel()
  const served = await Served.start([slow, double])
  const { socket, received } = connectTo(served)
  const one = JSON.stringify({ inputs: [input('x', 'FP32', [1], [1])] })
  const four = JSON.stringify({ inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
  socket.write(inferText('slow', one) + inferText('double', four))
  await begun
  await new Promise((resolve) => setTimeout(resolve, 100))
  const closed = once(socket, 'close')
  const closing = served.server.closeAsync({ deadline: 20_000 })
  await new Promise((resolve) => setTimeout(resolve, 100))
  finish()
  expect(await closing).toBe(true)
  await closed
  expect(received().match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
})

test('all requests on a connection are answered while the server closes', async () => {
  const answers: (() => void)[] = []
  const waits = defineModel({
    name: 'waits',
    signature: '(x: f32[n]) -> (y: f32[n])',
    instances: 3,
    run: async ({ x }) => {
      await new Promise<void>((resolve) => answers.push(resolve))
      return x
    },
  })
  const served = await Served.start([waits])
  const body = JSON.stringify({ inputs: [input('x', 'FP32', [1], [1])] })
  const { socket, received } = connectTo(served)
  socket.write(inferText('waits', body).repeat(3))
  await expect.poll(() => answers.length).toBe(3)
  const closed = once(socket, 'close')
  const closing = served.server.closeAsync({ deadline: 20_000 })
  await new Promise((resolve) => setTimeout(resolve, 200))
  for (const answer of answers) answer()
  expect(await closing).toBe(true)
  await closed
  expect(received().match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
  expect(received().match(/connection: close/gi)).toHaveLength(1)
})

test('each request that a model has got is answered when the server closes while clients go on asking', async () => {
  const ran = new Set<unknown>()
  const model = defineModel({
    name: 'm',
    signature: '(x: f32[n]) -> (y: f32[n])',
    instances: 8,
    run: async ({ x }, { parameters }) => {
      ran.add(parameters['number'])
      await new Promise((resolve) => setTimeout(resolve, 2))
      return x
    },
  })
  const served = await Served.start([model])
  const { port } = served.server
  const answered = new Set<unknown>()
  const agent = new Agent({ keepAlive: true })
  let number = 0
  const over = new AbortController()
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      const own = number++
      const body = JSON.stringify({ parameters: { number: own }, inputs: [input('x', 'FP32', [1], [1])] })
      const asking = httpRequest(
        { host: '127.0.0.1', port, method: 'POST', path: '/v2/models/m/infer', agent },
        (response) => {
          response.resume().on('end', () => {
            if (response.statusCode === 200) answered.add(own)
            resolve()
          })
          response.on('error', () => resolve())
        },
      )
      // Connections that the server has not accepted, and those that wait for a request, are reset or refused.
      asking.on('error', () => setTimeout(resolve, 5))
      asking.end(body)
    })
  const clients = Array.from({ length: 30 }, async () => {
    while (!over.signal.aborted) await ask()
  })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(await served.server.closeAsync({ deadline: 20_000 })).toBe(true)
  over.abort()
  await Promise.all(clients)
  agent.destroy()
  expect(ran.size).toBeGreaterThan(0)
  expect([...ran].filter((one) => !answered.has(one))).toEqual([])
})
