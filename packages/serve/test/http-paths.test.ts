import { eventually } from '@tenon/config/eventually'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { defineModel } from '../src/index.ts'
import { double, echo } from './models.ts'
import { inferText, input, Served } from './support.ts'

describe('the paths of the protocol', () => {
  test('an unknown path is 404, another verb is 405 with Allow', async () => {
    const served = await Served.start([double])
    expect(await served.get('/v3')).toEqual([
      404,
      { error: 'there is no such path; requests for a model go to /v2/models/{model}/infer' },
    ])
    expect(await served.get('/v2/models//infer')).toMatchObject([404, {}])
    const { status, headers } = await served.send('GET', '/v2/models/double/infer')
    expect([status, headers.allow]).toEqual([405, 'POST'])
    expect((await served.send('DELETE', '/v2')).status).toBe(405)
    expect((await served.send('GET', '/v2/models/%zz')).status).toBe(400)
    expect((await served.send('GET', '/v2?x=/y')).status).toBe(200)
  })

  test('a model has neither the name stats nor a slash in its name', () => {
    const signature = '(x: f32[n]) -> (y: f32[n])'
    for (const name of ['stats', 'a/b', '']) {
      expect(() => defineModel({ name, signature, run: ({ x }) => x })).toThrow(/name/)
    }
  })

  test('every error is JSON with the field error', async () => {
    const served = await Served.start([double])
    for (const path of ['/x', '/v2/models/no', '/v2/models/double/versions/7', '/v2/models/%zz']) {
      const { headers, body } = await served.send('GET', path)
      expect(headers['content-type']).toBe('application/json')
      expect(JSON.parse(body.toString())).toEqual({ error: expect.any(String) })
    }
  })

  test('an unknown model has the text that clients of Triton look for', async () => {
    const served = await Served.start([double])
    expect(await served.get('/v2/models/no')).toEqual([
      404,
      { error: 'Request for unknown model: there is no model "no"' },
    ])
    expect(await served.infer('no', { inputs: [] })).toMatchObject([404, {}])
  })

  test('without a version the highest one answers, and an id is echoed', async () => {
    const versions = ['2', '10', '9'].map((version) =>
      defineModel({ name: 'm', version, signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x }),
    )
    const served = await Served.start(versions)
    expect(await served.get('/v2/models/m')).toMatchObject([200, { versions: ['2', '9', '10'] }])
    const request = { id: '42', inputs: [input('x', 'FP32', [1], [1])] }
    expect((await served.infer('m', request))[1]).toMatchObject({ model_name: 'm', model_version: '10', id: '42' })
    expect((await served.infer('m/versions/9', request))[1]).toMatchObject({ model_version: '9' })
    expect(await served.infer('m/versions/3', request)).toEqual([
      404,
      { error: 'Request for unknown model: the model m has no version "3". Its versions are 2, 9, 10.' },
    ])
  })

  test('the metadata of the server lists the extensions that are on', async () => {
    const served = await Served.start([double], { name: 'mine' })
    expect(await served.get('/v2')).toEqual([
      200,
      {
        name: 'mine',
        version: 'source',
        extensions: [
          'binary_tensor_data',
          'parameters',
          'statistics',
          'model_configuration',
          'schedule_policy',
          'sequence',
          'sequence(string_id)',
        ],
      },
    ])
  })

  test('the metadata and the configuration of a model are those of its signature', async () => {
    const served = await Served.start([double, echo('s64')])
    expect(await served.get('/v2/models/double')).toEqual([
      200,
      {
        name: 'double',
        versions: ['1'],
        platform: 'tenon_kernel',
        inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }],
        outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 4] }],
      },
    ])
    expect(await served.get('/v2/models/double/config')).toMatchObject([
      200,
      { backend: 'tenon', max_batch_size: 0, input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [-1, 4] }] },
    ])
    expect(await served.get('/v2/models/double/ready')).toEqual([200, { name: 'double', ready: true }])
  })

  test('statistics count inferences and failures', async () => {
    const served = await Served.start([double])
    await served.infer('double', { inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    await served.infer('double', { inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    await served.infer('double', { inputs: [input('x', 'FP32', [1, 3], [1, 2, 3])] })
    const [, json] = await served.get('/v2/models/double/stats')
    const [stats] = (json as { model_stats: Record<string, Record<string, { count: number; ns: number }>>[] })
      .model_stats
    expect(stats).toMatchObject({ name: 'double', version: '1', inference_count: 2, execution_count: 2 })
    expect(stats!['inference_stats']!['success']!.count).toBe(2)
    expect(stats!['inference_stats']!['success']!.ns).toBeGreaterThan(0)
    // Clients read them as integers of 64 bits, and refuse fractions.
    const nanoseconds = Object.values(stats!['inference_stats']!).map(({ ns }) => ns)
    expect(nanoseconds).toEqual(nanoseconds.map(Math.round))
    expect((await served.get('/v2/models/stats'))[1]).toEqual(json)
  })

  test('metrics have the names of Triton, and a label for each model', async () => {
    const failing = defineModel({
      name: 'failing',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: () => {
        throw new Error('secret')
      },
    })
    const served = await Served.start([double, failing])
    await served.infer('double', { inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    await served.infer('double', { inputs: [] })
    const failed = await served.infer('failing', { inputs: [input('x', 'FP32', [1], [1])] })
    expect(failed).toEqual([500, { error: 'the model failing failed' }])
    await served.infer('unknown', {})
    const { headers, body } = await served.send('GET', '/metrics')
    expect(headers['content-type']).toContain('text/plain; version=0.0.4')
    const lines = body.toString().split('\n')
    expect(lines).toContain('nv_inference_request_success{model="double",version="1"} 1')
    expect(lines).toContain('nv_inference_count{model="double",version="1"} 1')
    expect(lines).toContain('nv_inference_exec_count{model="failing",version="1"} 1')
    expect(lines).toContain('nv_inference_request_failure{model="double",version="1",reason="OTHER"} 1')
    expect(lines).toContain('nv_inference_request_failure{model="failing",version="1",reason="BACKEND"} 1')
    expect(lines).toContain('nv_inference_pending_request_count{model="double",version="1"} 0')
    expect(lines).toContain('tenon_request_seconds_count{model="double",version="1"} 1')
    expect(body.toString()).not.toContain('unknown')
    expect(lines.find((line) => line.startsWith('tenon_connections '))).toBe('tenon_connections 1')
  })

  test('a server that announced its end is not ready, answers, and ends each connection', async () => {
    const served = await Served.start([double])
    served.server.announceEnd()
    expect(await served.get('/v2/health/ready')).toEqual([503, { live: true, ready: false }])
    expect(await served.get('/v2/models/double/ready')).toEqual([503, { name: 'double', ready: false }])
    const request = JSON.stringify({ inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })
    const reply = await served.send('POST', '/v2/models/double/infer', request, { connection: 'keep-alive' })
    expect([reply.status, reply.headers.connection]).toEqual([200, 'close'])
  })

  test('a server is ready until it closes', async () => {
    const served = await Served.start([double])
    expect(await served.get('/v2/health/live')).toEqual([200, { live: true }])
    expect(await served.get('/v2/health/ready')).toEqual([200, { live: true, ready: true }])
    const { port } = served.server
    await served.server.closeAsync()
    await expect(fetch(`http://127.0.0.1:${port}/v2/health/live`)).rejects.toThrow('fetch failed')
  })

  test('requests in progress are answered while the server closes, and new ones on open connections get 503', async () => {
    const early = (): void => {}
    let finish = early
    const slow = defineModel({
      name: 'slow',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: ({ x }) => new Promise((resolve) => (finish = () => resolve(x))),
    })
    const served = await Served.start([slow])
    const socket = connect(served.server.port, '127.0.0.1')
    const request = JSON.stringify({ inputs: [input('x', 'FP32', [1], [3])] })
    const text = inferText('slow', request)
    const received: string[] = []
    socket.on('data', (chunk) => received.push(chunk.toString()))
    socket.write(text)
    await eventually(() => expect(finish).not.toBe(early))
    const closing = served.server.closeAsync()
    finish()
    await Promise.all([closing, once(socket, 'close')])
    expect(received.join('')).toMatch(/^HTTP\/1.1 200 OK[^]*connection: close[^]*"data":\[3\]/)
  })

  test('a close with a deadline ends what does not finish', async () => {
    const endless = defineModel({
      name: 'endless',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    })
    const served = await Served.start([endless])
    const lost = served.infer('endless', { inputs: [input('x', 'FP32', [1], [3])] }).catch(String)
    await eventually(async () => expect((await served.get('/v2'))[0]).toBe(200))
    await served.server.closeAsync({ deadline: 50 })
    expect(await lost).toContain('socket hang up')
  })
})
