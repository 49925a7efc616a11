import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createClient,
  InvalidRequestError,
  ModelNotFoundError,
  PermissionDeniedError,
  ProtocolError,
  type Client,
  type ClientOptions,
} from '../src/client.ts'
import { defineModel, type Model, type ModelSource } from '../src/index.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeToken, writeAccess } from './access-fixture.ts'
import { Served } from './support.ts'

const version = (no: string): Model =>
  defineModel({ name: 'm', version: no, signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

/** A source with two versions of a model. */
const repository: ModelSource = {
  names: () => ['m'],
  load: () => Promise.resolve({ models: [version('1'), version('2')], closeAsync: () => Promise.resolve() }),
}

const explicit = { repository, modelControl: 'explicit' } as const

function open(url: string, options: ClientOptions = {}): Client {
  const client = createClient(url, options)
  onTestFinished(() => client.closeAsync())
  return client
}

describe('a client that switches the weights of versions', () => {
  test('sets them from the next request on, reads them, and takes them back', async () => {
    const served = await Served.start([], explicit)
    const client = open(`http://${served.server.httpAddress}`)
    await client.load('m')
    const counts = async (): Promise<number[]> => {
      const x = [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }]
      const answers = await Promise.all(Array.from({ length: 10 }, () => served.infer('m', { inputs: x })))
      const versions = answers.map(([, { model_version }]) => model_version)
      return ['1', '2'].map((no) => versions.filter((one) => one === no).length)
    }
    expect([await client.traffic('m'), await counts()]).toEqual([undefined, [0, 10]])
    await client.setTraffic('m', { '1': 9, '2': 1 })
    expect([await client.traffic('m'), await counts()]).toEqual([{ 1: 9, 2: 1 }, [9, 1]])
    await client.setTraffic('m', undefined)
    expect([await client.traffic('m'), await counts()]).toEqual([undefined, [0, 10]])
  })

  test('gets an error of the request for weights and models that are wrong, and nothing changes', async () => {
    const served = await Served.start([], explicit)
    const client = open(`http://${served.server.httpAddress}`)
    await client.load('m')
    await client.setTraffic('m', { '1': 1 })
    for (const [weights, text] of [
      [{ '3': 1 }, 'loaded versions of the model m, got "3"'],
      [{ '1': -1 }, 'a whole number from 0'],
      [{ '1': 0 }, 'a weight above 0'],
      [[1], 'an object of weights'],
    ] as const) {
      const change = client.setTraffic('m', weights as never)
      await expect(change).rejects.toThrow(InvalidRequestError)
      await expect(change).rejects.toThrow(text)
    }
    await expect(client.setTraffic('absent', { '1': 1 })).rejects.toThrow(ModelNotFoundError)
    await expect(client.traffic('absent')).rejects.toThrow(ModelNotFoundError)
    await expect(client.traffic('')).rejects.toThrow('model must be the name of a model')
    expect(await client.traffic('m')).toEqual({ 1: 1 })
  })

  test('needs a server that lets clients load models', async () => {
    const served = await Served.start([], { repository })
    const client = open(`http://${served.server.httpAddress}`)
    await expect(client.setTraffic('m', { '1': 1 })).rejects.toThrow('--model-control explicit')
    expect(await client.traffic('m')).toBeUndefined()
  })

  test('needs the permission to load the model', async () => {
    const [user, deploy] = [makeToken('user'), makeToken('deploy')]
    const access = writeAccess({
      tokens: [user.entry, deploy.entry],
      permissions: [
        { callers: ['token:user'], infer: ['*'] },
        { callers: ['token:deploy'], load: ['m'] },
      ],
    })
    const served = await Served.start([], { ...explicit, access })
    const url = `http://${served.server.httpAddress}`
    const [operator, other] = [open(url, { token: deploy.token }), open(url, { token: user.token })]
    await operator.load('m')
    await operator.setTraffic('m', { '2': 1 })
    await expect(other.setTraffic('m', { '1': 1 })).rejects.toThrow(PermissionDeniedError)
    await expect(other.traffic('m')).rejects.toThrow('the permission "load"')
    await expect(operator.traffic('absent')).rejects.toThrow(PermissionDeniedError)
    expect(await operator.traffic('m')).toEqual({ 2: 1 })
  })

  test('refuses an answer without weights', async () => {
    const server = createServer((_request, response) => void response.end('{"name":"m"}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const client = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await expect(client.traffic('m')).rejects.toThrow(ProtocolError)
  })
})
