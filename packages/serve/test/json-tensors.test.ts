import { eventually } from '@tenon/config/eventually'
import { ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { defineModel } from '../src/index.ts'
import { double, echo } from './models.ts'
import { input, Served } from './support.ts'

const signatures = ['f32', 's8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64', 'f64', 'pred', 'f16', 'bf16'] as const
const datatypes = [
  'FP32',
  'INT8',
  'UINT8',
  'INT16',
  'UINT16',
  'INT32',
  'UINT32',
  'INT64',
  'UINT64',
  'FP64',
  'BOOL',
  'FP16',
  'BF16',
]
const models = signatures.map((dtype, i) => echo(dtype, datatypes[i]!))

/** Sends one element and returns what came back, or the error. */
async function echoed(served: Served, datatype: string, value: string): Promise<string> {
  const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[1],"data":[${value}]}]}`
  const reply = (await served.send('POST', `/v2/models/${datatype}/infer`, body)).body.toString()
  return /"data":\[(.*?)\]/.exec(reply)?.[1] ?? (JSON.parse(reply) as { error: string }).error
}

describe('tensors in JSON', () => {
  test('an inference', async () => {
    const served = await Served.start([double])
    expect(await served.infer('double', { inputs: [input('x', 'FP32', [1, 4], [1, 2, 3, 4])] })).toEqual([
      200,
      {
        model_name: 'double',
        model_version: '1',
        outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 4], data: [2, 4, 6, 8] }],
      },
    ])
  })

  test('the memory of the inputs of a function is closed with the answer, unless the function copies it', async () => {
    const kept: Tensor[] = []
    const keep = defineModel({
      name: 'keep',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: ({ x }) => {
        kept.push(x, x.copy())
        return x
      },
    })
    const served = await Served.start([keep])
    const [status, answer] = await served.infer('keep', { inputs: [input('x', 'FP32', [2], [1, 2])] })
    expect([status, answer['outputs']]).toMatchObject([200, [{ data: [1, 2] }]])
    const [x, copy] = kept
    await eventually(() => expect(() => x!.at(0)).toThrow(ScopeClosedError))
    expect(copy!.toArray()).toEqual([1, 2])
  })

  test('shape, rank, datatype and names must be those of the model', async () => {
    const served = await Served.start([double])
    const errorOf = async (inputs: unknown): Promise<unknown> => {
      const [status, json] = await served.infer('double', { inputs })
      return [status, json['error']]
    }
    const data = [1, 2, 3, 4]
    expect(await errorOf([input('x', 'FP32', [4], data)])).toEqual([
      400,
      expect.stringContaining('x of double must be'),
    ])
    expect(await errorOf([input('x', 'FP32', [2, 2], data)])).toEqual([
      400,
      expect.stringContaining('x of double must be'),
    ])
    expect(await errorOf([input('x', 'FP64', [1, 4], data)])).toEqual([
      400,
      'the input x must have the datatype FP32, got "FP64"',
    ])
    expect(await errorOf([input('z', 'FP32', [1, 4], data)])).toEqual([
      400,
      'the model double has no input "z". Its inputs are x.',
    ])
    expect(await errorOf([])).toEqual([400, 'the request must have the input x of the model double'])
    const twice = input('x', 'FP32', [1, 4], data)
    expect(await errorOf([twice, twice])).toEqual([400, 'inputs must have each name once, got "x" twice'])
    for (const shape of [[-1, 4], [1.5, 4], ['1', 4], [2 ** 53, 4], null, 4, Array.from({ length: 33 }, () => 1)]) {
      expect(await errorOf([{ name: 'x', datatype: 'FP32', shape, data }])).toEqual([
        400,
        expect.stringContaining('shape'),
      ])
    }
    expect(await errorOf([input('x', 'FP32', [2 ** 51, 4], data)])).toEqual([400, expect.stringContaining('shape')])
  })

  test('unknown fields are ignored, and a size of 0 is valid', async () => {
    const served = await Served.start([double])
    const request = { inputs: [{ ...input('x', 'FP32', [0, 4], []), extra: 1 }], other: {} }
    expect(await served.infer('double', request)).toMatchObject([200, { outputs: [{ shape: [0, 4], data: [] }] }])
    expect(await served.infer('double', { inputs: [input('x', 'FP32', [-0, 4], [])] })).toMatchObject([200, {}])
  })

  test('names of the prototype of objects are unknown like others', async () => {
    const served = await Served.start([double])
    const body =
      '{"__proto__":{"inputs":[]},"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}],"id":"a"}'
    expect((await served.send('POST', '/v2/models/double/infer', body)).status).toBe(200)
    expect(await served.infer('constructor', {})).toMatchObject([404, {}])
    const [status] = await served.infer('double', { inputs: [input('constructor', 'FP32', [1], [1])] })
    expect(status).toBe(400)
  })

  test('sizes whose product overflows are refused before memory is taken', async () => {
    const cube = defineModel({ name: 'cube', signature: '(x: f64[a, b, c]) -> (y: f64[a, b, c])', run: ({ x }) => x })
    const served = await Served.start([cube])
    for (const shape of [
      [2 ** 52, 2 ** 52, 2 ** 52],
      [2 ** 31, 2 ** 20, 1],
      [2 ** 53 - 1, 1, 1],
      [1 << 15, 1 << 15, 1 << 15],
    ]) {
      const before = process.memoryUsage().external
      expect((await served.infer('cube', { inputs: [input('x', 'FP64', shape, [])] }))[0]).toBeOneOf([400, 413])
      expect(process.memoryUsage().external - before).toBeLessThan(2 ** 24)
    }
  })

  test('nested data with objects, and integers without an end, are wrong requests', async () => {
    const column = defineModel({ name: 'column', signature: '(x: f32[n, 1]) -> (y: f32[n, 1])', run: ({ x }) => x })
    const served = await Served.start([column, ...models])
    expect(await served.infer('column', { inputs: [input('x', 'FP32', [2, 1], [[1], { toString: 1 }])] })).toEqual([
      400,
      { error: 'the nested data of x must have the lengths of its shape [2, 1], got an object at axis 1' },
    ])
    for (const datatype of ['INT64', 'UINT64', 'FP64'])
      expect(await echoed(served, datatype, '1'.repeat(1_000_000))).toMatch(/^element 0 of x must be .*, got Infinity$/)
    expect(await echoed(served, 'FP32', '1e39')).toMatch(/must be a finite number in the range of FP32, got 1e\+39$/)
    expect(Number(await echoed(served, 'FP32', '3e38'))).toBe(Math.fround(3e38))
  })

  test('data is flat or nested, and has as many elements as the shape', async () => {
    const served = await Served.start([double])
    const send = async (shape: number[], data: unknown): Promise<unknown> => {
      const [status, json] = await served.infer('double', { inputs: [input('x', 'FP32', shape, data)] })
      return status === 200 ? (json['outputs'] as { data: unknown }[])[0]!.data : json['error']
    }
    const nested = [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ]
    expect(await send([2, 4], nested)).toEqual([2, 4, 6, 8, 10, 12, 14, 16])
    expect(await send([2, 4], nested.flat())).toEqual([2, 4, 6, 8, 10, 12, 14, 16])
    expect(await send([2, 4], [1, 2])).toBe('the data of x must be 8 elements for the shape [2, 4], got 2')
    expect(await send([2, 4], [[1, 2, 3, 4], [5]])).toContain(
      'must have the lengths of its shape [2, 4], got 1 at axis 1',
    )
    expect(await send([2, 4], [[1, 2, 3, 4], 5])).toContain('at axis 1')
    expect(
      await send(
        [2, 4],
        nested.map((row) => row.map((one) => [one])),
      ),
    ).toContain('element 0 of x must be a finite number')
    expect(await send([2, 4], 7)).toBe('the data of x must be an array, got 7')
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[2,4],"data":${deep}}]}`
    expect((await served.send('POST', '/v2/models/double/infer', body)).status).toBe(400)
  })

  test('values are in the range of the datatype, and 64-bit integers are exact', async () => {
    const served = await Served.start(models)
    expect(await echoed(served, 'INT64', '-9223372036854775808')).toBe('-9223372036854775808')
    expect(await echoed(served, 'INT64', '9007199254740993')).toBe('9007199254740993')
    expect(await echoed(served, 'UINT64', '18446744073709551615')).toBe('18446744073709551615')
    expect(await echoed(served, 'INT64', '1e3')).toBe('1000')
    expect(await echoed(served, 'INT64', '9223372036854775808')).toContain('INT64')
    expect(await echoed(served, 'INT64', '1e300')).toContain('INT64')
    expect(await echoed(served, 'UINT64', '-1')).toContain('UINT64')
    expect(await echoed(served, 'INT8', '-128')).toBe('-128')
    expect(await echoed(served, 'INT8', '128')).toBe(
      'element 0 of x must be a whole number of INT8, which has 8 bits, got 128',
    )
    expect(await echoed(served, 'UINT16', '65535')).toBe('65535')
    expect(await echoed(served, 'UINT16', '1.5')).toContain('UINT16')
    expect(await echoed(served, 'UINT32', '4294967296')).toContain('UINT32')
    expect(await echoed(served, 'BOOL', 'true')).toBe('true')
    expect(await echoed(served, 'BOOL', '1')).toBe('true')
    expect(await echoed(served, 'BOOL', '2')).toBe('element 0 of x must be true, false, 0 or 1, got 2')
    expect(await echoed(served, 'FP64', '0.1')).toBe('0.1')
    expect(await echoed(served, 'FP32', '0.1')).toBe('0.10000000149011612')
    expect(await echoed(served, 'FP64', '1e400')).toContain('must be a finite number')
    for (const other of ['"1"', 'null', '{}', '""'])
      expect(await echoed(served, 'FP32', other)).toContain('finite number')
  })

  test('an output that JSON does not have is refused with the way out', async () => {
    const other = defineModel({
      name: 'other',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: () => tensor('f32', [2], [1, Number.NaN]),
    })
    const served = await Served.start([other])
    const request = { inputs: [input('x', 'FP32', [2], [1, 2])] }
    expect(await served.infer('other', request)).toEqual([
      400,
      {
        error:
          'the output y has the value NaN, which has no form in JSON. Ask for the output with the parameter binary_data.',
      },
    ])
    const { status, body } = await served.inferBinary(
      'other',
      { ...request, parameters: { binary_data_output: true } },
      [],
    )
    expect([status, body.subarray(-8)]).toEqual([200, Buffer.from(new Float32Array([1, Number.NaN]).buffer)])
  })

  test('floats of 16 bits cross as bytes only', async () => {
    const served = await Served.start(models)
    for (const datatype of ['FP16', 'BF16']) {
      expect(await echoed(served, datatype, '1')).toBe(
        `the elements of ${datatype} must be sent as bytes. Use the parameter binary_data_size, or raw_input_contents of gRPC.`,
      )
      const binary = { name: 'x', datatype, shape: [2], parameters: { binary_data_size: 4 } }
      const bytes = Buffer.from([1, 2, 3, 4])
      const asJson = await served.inferBinary(datatype, { inputs: [binary] }, [bytes])
      expect([asJson.status, asJson.body.toString()]).toEqual([400, expect.stringContaining('no form in JSON')])
      const request = { inputs: [binary], parameters: { binary_data_output: true } }
      expect((await served.inferBinary(datatype, request, [bytes])).body.subarray(-4)).toEqual(bytes)
    }
  })

  test('a request that is not JSON, or not an object, is refused with the reason', async () => {
    const served = await Served.start([double])
    for (const body of [
      '',
      '{',
      'null',
      '[]',
      '1',
      '{"inputs":{}}',
      '{"inputs":[1]}',
      Buffer.from([0x22, 0xff, 0x22]),
    ]) {
      const reply = await served.send('POST', '/v2/models/double/infer', body)
      expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([
        400,
        { error: expect.stringMatching(/request|inputs/) },
      ])
    }
  })
})
