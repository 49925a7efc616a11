import { setTimeout } from 'node:timers/promises'
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename } from 'node:path'
import { execFileSync } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createServer, defineModel } from '../src/index.ts'
import { double, echo } from './models.ts'
import { Served, type Reply } from './support.ts'

/** A folder of /dev/shm cannot hold POSIX objects, so the objects of a test share a prefix. */
function objects(): { readonly prefix: string; make(name: string, bytes: Uint8Array | number): string } {
  const folder = mkdtempSync('/dev/shm/serve-test-')
  rmSync(folder, { recursive: true })
  const prefix = basename(folder)
  onTestFinished(() => {
    for (const name of readdirSync('/dev/shm'))
      if (name.startsWith(prefix)) rmSync(`/dev/shm/${name}`, { recursive: true })
  })
  return {
    prefix,
    make(name, bytes) {
      const path = `${folder}${name}`
      writeFileSync(path, typeof bytes === 'number' ? new Uint8Array(bytes) : bytes)
      return path
    },
  }
}

const floats = (...values: number[]): Uint8Array => new Uint8Array(new Float32Array(values).buffer)

const inRegion = (region: string, byteSize: number, offset = 0): object => ({
  shared_memory_region: region,
  shared_memory_byte_size: byteSize,
  shared_memory_offset: offset,
})

const register = (served: Served, name: string, path: string, byteSize: number, offset = 0) =>
  served.post(`/v2/systemsharedmemory/region/${name}/register`, {
    key: `/${basename(path)}`,
    offset,
    byte_size: byteSize,
  })

const descriptors = (): number => readdirSync('/proc/self/fd').length

const jsonOf = ({ status, body }: Reply): [number, unknown] => [
  status,
  body.toString().startsWith('{"e') ? JSON.parse(body.toString()) : undefined,
]

// Clients share memory on Linux only.
if (process.platform === 'linux')
  describe('shared memory of clients', () => {
    test('inputs are read from it and outputs are written to it', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      const path = make('-data', 64)
      writeFileSync(path, Buffer.concat([new Uint8Array(8), floats(1, 2, 3, 4), new Uint8Array(40)]))
      expect(await register(served, 'data', path, 56, 8)).toEqual([200, undefined])

      const described = { name: 'data', key: `/${basename(path)}`, offset: 8, byte_size: 56 }
      expect(await served.get('/v2/systemsharedmemory/status')).toEqual([200, [described]])
      expect(await served.get('/v2/systemsharedmemory/region/data/status')).toEqual([200, [described]])

      const [status, json] = await served.infer('double', {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], parameters: inRegion('data', 16) }],
        outputs: [{ name: 'y', parameters: inRegion('data', 40, 16) }],
      })
      const parameters = { shared_memory_region: 'data', shared_memory_offset: 16, shared_memory_byte_size: 16 }
      expect([status, json['outputs']]).toEqual([200, [{ name: 'y', datatype: 'FP32', shape: [1, 4], parameters }]])
      expect(readFileSync(path).subarray(24, 40)).toEqual(Buffer.from(floats(2, 4, 6, 8)))

      expect(await served.post('/v2/systemsharedmemory/region/data/unregister', {})).toEqual([200, undefined])
      expect(await served.get('/v2/systemsharedmemory/status')).toEqual([200, []])
    })

    test('the copy of an input counts for the memory of all requests', async () => {
      const { prefix, make } = objects()
      let inFlight: RegExpExecArray | null = null
      const look = defineModel({
        name: 'look',
        signature: '(x: f32[n]) -> (y: f32[n])',
        run: async ({ x }) => {
          inFlight = /^tenon_in_flight_bytes (\d+)$/m.exec((await served.send('GET', '/metrics')).body.toString())
          return x
        },
      })
      const options = { allowClientSharedMemory: prefix, maxRequestBytes: 65_536, maxInFlightBytes: 65_536 }
      const served = await Served.start([look], options)
      expect(await register(served, 'data', make('-data', 65_536), 65_536)).toEqual([200, undefined])
      for (const byteSize of [40_000, 65_536]) {
        const x = { name: 'x', datatype: 'FP32', shape: [byteSize / 4], parameters: inRegion('data', byteSize) }
        expect((await served.infer('look', { inputs: [x] }))[0]).toBe(200)
        // One that needs all of the memory gets no more for its JSON.
        expect(Number(inFlight![1])).toBeGreaterThanOrEqual(byteSize)
        expect(Number(inFlight![1])).toBeLessThanOrEqual(65_536)
      }
    })

    test('strings in shared memory have their lengths before them', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([echo('string')], { allowClientSharedMemory: prefix })
      const bytes = Buffer.from([1, 0, 0, 0, 0x61, 0, 0, 0, 0])
      const path = make('-text', Buffer.concat([bytes, Buffer.alloc(20)]))
      await register(served, 'text', path, 29)
      const [status] = await served.infer('echo_string', {
        inputs: [{ name: 'x', datatype: 'BYTES', shape: [2], parameters: inRegion('text', 9) }],
        outputs: [{ name: 'y', parameters: inRegion('text', 20, 9) }],
      })
      expect([status, readFileSync(path).subarray(9, 18)]).toEqual([200, bytes])
    })

    test('it is off unless the server allows it, and then a part of the extensions', async () => {
      const off = await Served.start([double])
      expect((await off.get('/v2'))[1]).toMatchObject({
        extensions: expect.not.arrayContaining(['system_shared_memory']),
      })
      const refusal = expect.stringContaining('this server shares no memory with its clients')
      expect(await off.get('/v2/systemsharedmemory/status')).toEqual([501, { error: refusal }])
      expect(await off.post('/v2/systemsharedmemory/region/a/register', { key: '/a', byte_size: 1 })).toEqual([
        501,
        { error: refusal },
      ])
      const named = { name: 'x', datatype: 'FP32', shape: [1, 4], parameters: inRegion('a', 16) }
      expect(await off.infer('double', { inputs: [named] })).toEqual([
        404,
        { error: expect.stringContaining('there is no region "a"') },
      ])

      const on = await Served.start([double], { allowClientSharedMemory: 'mine' })
      expect((await on.get('/v2'))[1]).toMatchObject({ extensions: expect.arrayContaining(['system_shared_memory']) })
    })

    test('a server that other machines reach, and a prefix of other programs, are refused', async () => {
      const start = (allowClientSharedMemory: string, host = '127.0.0.1') =>
        createServer({ models: [double], http: { host, port: 0 }, allowClientSharedMemory })
      await expect(start('mine', '0.0.0.0')).rejects.toThrow(
        'must be for servers of this machine only, got the host 0.0.0.0',
      )
      for (const prefix of ['', 'a/b', 'tenon-', 'ten', 'triton_python_backend_shm_region_1', 'a'.repeat(201)]) {
        await expect(start(prefix)).rejects.toThrow('allowClientSharedMemory must')
      }
    })

    test.each([
      ['a path', '/../etc/passwd'],
      ['a folder', '/a/b'],
      ['dots', '..'],
      ['another prefix', '/other'],
      ['the file of a driver', '/tenon-abc'],
      ['NUL', '/a\0b'],
      ['no text', 7],
    ])('a key that is %s is refused', async (_, key) => {
      const served = await Served.start([double], { allowClientSharedMemory: 'serve-test' })
      const reply = await served.post('/v2/systemsharedmemory/region/a/register', { key, byte_size: 1 })
      expect(reply).toEqual([400, { error: expect.stringContaining('key must be') }])
    })

    test('links, folders, pipes and files of others are refused, and leave no descriptor', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      const target = make('-target', 64)
      symlinkSync(target, `/dev/shm/${prefix}-link`)
      mkdirSync(`/dev/shm/${prefix}-folder`)
      execFileSync('mkfifo', [`/dev/shm/${prefix}-pipe`])
      const before = descriptors()
      for (const name of ['-link', '-folder', '-pipe', '-absent']) {
        const [status] = await register(served, 'a', `/dev/shm/${prefix}${name}`, 16)
        expect([name, status]).toEqual([name, 400])
      }
      if (process.geteuid!() === 0) {
        const other = make('-other', 64)
        chownSync(other, 12_345, 12_345)
        const reply = await register(served, 'a', other, 16)
        expect(reply).toEqual([400, { error: 'the region a must belong to the user of the server' }])
      }
      expect(await served.get('/v2/systemsharedmemory/status')).toEqual([200, []])
      expect(descriptors()).toBe(before)
    })

    test.each([
      ['a size of 0', { byte_size: 0 }],
      ['a negative size', { byte_size: -1 }],
      ['a fraction', { byte_size: 1.5 }],
      ['a text', { byte_size: '16' }],
      ['no size', {}],
      ['a size beyond the object', { byte_size: 65 }],
      ['an offset beyond the object', { byte_size: 1, offset: 64 }],
      ['a negative offset', { byte_size: 1, offset: -1 }],
      ['a sum beyond 2^53', { byte_size: 2 ** 53 - 1, offset: 2 ** 53 - 1 }],
    ])('%s is refused', async (_, range) => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      const key = basename(make('-data', 64))
      expect((await served.post('/v2/systemsharedmemory/region/a/register', { key, ...range }))[0]).toBe(400)
    })

    test('a name is registered once, and a server has at most 1024 regions', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      const path = make('-data', 64)
      const before = descriptors()
      for (let i = 0; i < 1024; i++) expect((await register(served, `r${i}`, path, 64))[0]).toBe(200)
      expect(await register(served, 'r0', path, 64)).toEqual([400, { error: 'the region r0 must be registered once' }])
      expect(await register(served, 'more', path, 64)).toEqual([
        400,
        { error: expect.stringContaining('at most 1024 regions') },
      ])
      expect((await served.post('/v2/systemsharedmemory/unregister', {}))[0]).toBe(200)
      expect(descriptors()).toBeLessThanOrEqual(before + 1)
    })

    test('an object that became shorter is the error of a request', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      const path = make('-data', 64)
      await register(served, 'data', path, 64)
      truncateSync(path, 8)
      const x = { name: 'x', datatype: 'FP32', shape: [1, 4] }
      const shortened = { error: 'the region data must stay as large as it was registered' }
      expect(await served.infer('double', { inputs: [{ ...x, parameters: inRegion('data', 16) }] })).toEqual([
        400,
        shortened,
      ])
      const inputs = [{ ...x, data: [1, 2, 3, 4] }]
      const outputs = [{ name: 'y', parameters: inRegion('data', 16) }]
      expect(await served.infer('double', { inputs, outputs })).toEqual([400, shortened])
      expect(readFileSync(path)).toHaveLength(8)
    })

    test('ranges end within the region, and outputs need room for their bytes', async () => {
      const { prefix, make } = objects()
      const served = await Served.start([double], { allowClientSharedMemory: prefix })
      await register(served, 'data', make('-data', 64), 32)
      const x = { name: 'x', datatype: 'FP32', shape: [1, 4] }
      const inputs = [{ ...x, data: [1, 2, 3, 4] }]
      const errorFor = async (request: object) => (await served.infer('double', request))[1]['error']
      expect(await errorFor({ inputs: [{ ...x, parameters: inRegion('data', 16, 20) }] })).toContain(
        'must end within the 32 bytes',
      )
      expect(await errorFor({ inputs: [{ ...x, parameters: inRegion('data', 20) }] })).toContain(
        'shared_memory_byte_size of x must be 16',
      )
      expect(await errorFor({ inputs, outputs: [{ name: 'y', parameters: inRegion('data', 40) }] })).toContain(
        'must end within',
      )
      expect(await errorFor({ inputs, outputs: [{ name: 'y', parameters: inRegion('data', 8) }] })).toContain(
        'must have 16 bytes, got 8',
      )
      expect(await errorFor({ inputs: [{ ...x, data: [1, 2, 3, 4], parameters: inRegion('data', 16) }] })).toContain(
        'must have either',
      )
      for (const parameters of [
        { shared_memory_byte_size: 16 },
        { shared_memory_region: 'data' },
        inRegion('data', -1),
      ]) {
        expect(await errorFor({ inputs: [{ ...x, parameters }] })).toContain('shared_memory_')
      }
    })

    test('a request keeps its region open, and a new one can have the name', async () => {
      const { prefix, make } = objects()
      let go = (): void => {}
      const waiting = new Promise<void>((resolve) => (go = resolve))
      const slow = defineModel({
        name: 'slow',
        signature: '(x: f32[n]) -> (y: f32[n])',
        run: async ({ x }) => {
          await waiting
          return x
        },
      })
      const served = await Served.start([slow], { allowClientSharedMemory: prefix })
      const [first, second] = [make('-first', floats(1, 2)), make('-second', 8)]
      const before = descriptors()
      await register(served, 'data', first, 8)
      const reply = served.infer('slow', {
        inputs: [{ name: 'x', datatype: 'FP32', shape: [2], parameters: inRegion('data', 8) }],
        outputs: [{ name: 'y', parameters: inRegion('data', 8) }],
      })
      while (
        !(await served.send('GET', '/metrics')).body.includes(
          'nv_inference_pending_request_count{model="slow",version="1"} 1',
        )
      )
        continue
      expect((await served.post('/v2/systemsharedmemory/region/data/unregister', {}))[0]).toBe(200)
      expect((await register(served, 'data', second, 8))[0]).toBe(200)
      writeFileSync(first, floats(3, 4))
      go()
      expect((await reply)[0]).toBe(200)
      expect(readFileSync(first)).toEqual(Buffer.from(floats(1, 2)))
      expect(readFileSync(second)).toEqual(Buffer.alloc(8))
      await served.post('/v2/systemsharedmemory/unregister', {})
      for (let i = 0; i < 50 && descriptors() > before + 1; i++) await setTimeout(20)
      expect(descriptors()).toBeLessThanOrEqual(before + 1)
    })

    test('memory of GPUs is not shared', async () => {
      const served = await Served.start([double], { allowClientSharedMemory: 'mine' })
      expect(await served.get('/v2/cudasharedmemory/status')).toEqual([200, []])
      expect(await served.post('/v2/cudasharedmemory/unregister', {})).toEqual([200, undefined])
      expect(await served.post('/v2/cudasharedmemory/region/a/unregister', {})).toEqual([200, undefined])
      expect((await served.get('/v2/cudasharedmemory/region/a/status'))[0]).toBe(404)
      expect((await served.post('/v2/cudasharedmemory/region/a/register', {}))[0]).toBe(501)
    })
  })

describe('requests without JSON', () => {
  const send = (served: Served, model: string, body: Uint8Array) =>
    served.send('POST', `/v2/models/${model}/infer`, body, { 'inference-header-content-length': '0' })

  test('the bytes are the only input, whose variable axis follows from their number', async () => {
    const served = await Served.start([echo('f32'), echo('string')])
    const { status, headers, body } = await send(served, 'echo_f32', floats(1, 2, 3))
    expect([status, headers['content-type']]).toEqual([200, 'application/octet-stream'])
    const size = Number(headers['inference-header-content-length'])
    expect(JSON.parse(body.subarray(0, size).toString())).toMatchObject({ outputs: [{ shape: [3] }] })
    expect(body.subarray(size)).toEqual(Buffer.from(floats(1, 2, 3)))
    const text = await send(served, 'echo_string', Buffer.from('text'))
    expect(text.body.subarray(-8)).toEqual(Buffer.from([4, 0, 0, 0, ...Buffer.from('text')]))
  })

  test('a model with several inputs or variable axes, and bytes that do not fit, are refused', async () => {
    const run = ({ x }: { readonly x: unknown }) => x as never
    const two = defineModel({ name: 'two', signature: '(x: f32[n], z: f32[n]) -> (y: f32[n])', run })
    const axes = defineModel({ name: 'axes', signature: '(x: f32[n, m]) -> (y: f32[n, m])', run })
    const served = await Served.start([two, axes, double])
    expect(jsonOf(await send(served, 'two', floats(1)))).toEqual([
      400,
      { error: expect.stringContaining('must have one input') },
    ])
    expect(jsonOf(await send(served, 'axes', floats(1)))).toEqual([
      400,
      { error: expect.stringContaining('at most one variable axis') },
    ])
    for (const bytes of [new Uint8Array(17), new Uint8Array(4)]) {
      expect(jsonOf(await send(served, 'double', bytes))).toEqual([
        400,
        { error: expect.stringContaining('binary_data_size of x must be') },
      ])
    }
    expect(jsonOf(await send(served, 'double', floats(1, 2, 3, 4)))[0]).toBe(200)
  })
})
