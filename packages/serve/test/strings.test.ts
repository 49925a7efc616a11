import { compile } from 'tenon/build'
import { Library, tensor } from 'tenon'
import { StringTensor } from 'tenon/tstring'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readStrings, writeStrings } from '../src/protocol/string-bytes.ts'
import { defineModel, type Model } from '../src/index.ts'
import { input, Served } from './support.ts'
import fc from 'fast-check'

/** Upper-cases its input. */
const shout: Model = defineModel({
  name: 'shout',
  signature: '(text: string[rows, 2]) -> (loud: string[rows, 2])',
  maxBatchSize: 8,
  batching: { maxQueueDelayMicroseconds: 50_000 },
  run: ({ text }) =>
    StringTensor.from(
      text.toArray().map((one) => one.toUpperCase()),
      { shape: text.shape },
    ),
})

/** Returns its input. */
const echo: Model = defineModel({
  name: 'echo',
  signature: '(text: string[n]) -> (same: string[n])',
  run: ({ text }) => text,
})

const encoded = (...texts: (string | Uint8Array)[]): Buffer =>
  Buffer.from(writeStrings(texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : text))))

const sized = (shape: readonly number[], size: number): object => ({
  inputs: [{ name: 'text', datatype: 'BYTES', shape, parameters: { binary_data_size: size } }],
})

describe('string tensors', () => {
  test('strings are texts in JSON, flat or nested', async () => {
    const served = await Served.start([shout])
    const nested = [
      ['a', 'ß'],
      ['\u{1F600}', ''],
    ]
    for (const data of [nested, nested.flat()]) {
      const [status, json] = await served.infer('shout', { inputs: [input('text', 'BYTES', [2, 2], data)] })
      const outputs = [{ name: 'loud', datatype: 'BYTES', shape: [2, 2], data: ['A', 'SS', '\u{1F600}', ''] }]
      expect([status, json['outputs']]).toEqual([200, outputs])
    }
  })

  test('what is no text is refused, and an output that is not UTF-8 needs the binary form', async () => {
    const served = await Served.start([echo])
    const infer = async (data: unknown) =>
      (await served.infer('echo', { inputs: [input('text', 'BYTES', [1], data)] }))[1]
    expect(await infer([1])).toEqual({ error: 'element 0 of text must be a text, got 1' })
    expect(await infer(['\ud800'])).toEqual({ error: 'element 0 of text must be text without lone surrogates' })
    expect(await infer(['a', 'b'])).toEqual({ error: 'the data of text must be 1 elements for the shape [1], got 2' })

    const bytes = encoded(Uint8Array.of(0xff))
    const asText = await served.inferBinary('echo', sized([1], bytes.length), [bytes])
    expect([asText.status, asText.body.toString()]).toEqual([400, expect.stringContaining('which has no form in JSON')])
    const asBytes = { ...sized([1], bytes.length), parameters: { binary_data_output: true } }
    expect((await served.inferBinary('echo', asBytes, [bytes])).body.subarray(-bytes.length)).toEqual(bytes)
  })

  test('a string has its length before it, and the lengths must fit exactly', async () => {
    const served = await Served.start([echo])
    const infer = async (count: number, bytes: Uint8Array) => {
      const { status, body } = await served.inferBinary('echo', sized([count], bytes.length), [bytes])
      const { outputs, error } = JSON.parse(body.toString()) as { outputs?: [{ data: string[] }]; error?: string }
      return [status, error ?? outputs![0].data]
    }
    expect(await infer(3, encoded('a', '', 'long enough for another place'))).toEqual([
      200,
      ['a', '', 'long enough for another place'],
    ])
    expect(await infer(0, Buffer.alloc(0))).toEqual([200, []])
    const wrong = [
      [2, encoded('a'), 'text must have 2 strings for its shape, got 1'],
      [1, encoded('a', 'b'), 'text must have 1 strings for its shape, got more'],
      [1, encoded('abc').subarray(0, 6), 'element 0 of text must end within its 6 bytes'],
      [1, Buffer.from([0xff, 0xff, 0xff, 0xff]), 'element 0 of text must end within its 4 bytes'],
      [1, Buffer.from([1, 0]), 'element 0 of text must end within its 2 bytes'],
    ] as const
    for (const [count, bytes, error] of wrong) expect(await infer(count, bytes)).toEqual([400, error])
  })

  test('any strings cross unchanged, and any bytes are strings or an error', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (elements) => {
        expect(readStrings('x', writeStrings(elements), elements.length)).toEqual(elements)
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(6), (bytes, count) => {
        try {
          expect(writeStrings(readStrings('x', bytes, count))).toEqual(bytes)
        } catch (error) {
          expect(error).toHaveProperty('code', 'TENON_INVALID_REQUEST')
        }
      }),
    )
  })

  test('requests with strings share a batch, and each gets its own rows', async () => {
    const served = await Served.start([shout])
    const replies = await Promise.all(
      ['a', 'b', 'c'].map((text) =>
        served.infer('shout', { inputs: [input('text', 'BYTES', [1, 2], [text, `${text}!`])] }),
      ),
    )
    expect(replies.map(([, { outputs }]) => (outputs as [{ data: unknown }])[0].data)).toEqual([
      ['A', 'A!'],
      ['B', 'B!'],
      ['C', 'C!'],
    ])
    const [, stats] = await served.get('/v2/models/shout/stats')
    expect((stats as { model_stats: [{ execution_count: number }] }).model_stats[0].execution_count).toBeLessThan(3)
  })

  test('metadata and configuration name the type', async () => {
    const served = await Served.start([echo])
    expect(await served.get('/v2/models/echo')).toMatchObject([
      200,
      { inputs: [{ name: 'text', datatype: 'BYTES', shape: [-1] }] },
    ])
    expect(await served.get('/v2/models/echo/config')).toMatchObject([
      200,
      { input: [{ data_type: 'TYPE_STRING', dims: [-1] }] },
    ])
  })

  test('a kernel in a process of its own takes the bytes of a packed tensor, without a copy', async () => {
    const { path } = await compile(`
      #include <tenon/kernel.h>
      TN_KERNEL(measure, "(text: u8[b]) -> (size: s64[2])") {
        const tn_xla_buffer_t *text = tn_xla_arg(in, 0, TN_XLA_U8, 1), *size = tn_xla_ret(in, 0, TN_XLA_S64, 1);
        if (!tn_xla_complete(in)) return;
        ((int64_t *)size->data)[0] = text->dims[0];
        /* The size of a string that is in its struct, in units of 4. */
        ((int64_t *)size->data)[1] = ((const unsigned char *)text->data)[24] >> 2;
      }`)
    const library = await Library.isolate(path)
    onTestFinished(() => library.closeAsync())
    const kernel = library.kernel('measure')
    const model = defineModel({
      name: 'measure',
      kernel,
      memory: library.memory,
      signature: '(text: string[n]) -> (size: s64[2])',
    })
    const served = await Served.start([model])
    const data = ['a', 'four', 'a string that does not fit into its struct']
    const size = StringTensor.from(data, { storage: 'packed' }).segment.byteSize
    const [status, json] = await served.infer('measure', { inputs: [input('text', 'BYTES', [3], data)] })
    expect([status, json['outputs']]).toEqual([200, [{ name: 'size', datatype: 'INT64', shape: [2], data: [size, 4] }]])
    expect(library.metrics().copiedBytes).toBe(0)

    expect(() => defineModel({ name: 'texts', kernel, signature: '(text: u8[n]) -> (size: string[2])' })).toThrow(
      'the output size of the kernel measure must have the elements of its own signature, got string',
    )
  })

  test('a kernel in a process of its own takes and returns strings', async () => {
    const { path } = await compile(`
      #include <tenon/kernel.h>
      #include <tenon/tstring.h>
      TN_KERNEL(twice, "(text: string[n]) -> (twice: string[n], size: s64[n])") {
        const tn_xla_buffer_t *text = tn_xla_arg(in, 0, TN_XLA_U8, 2);
        tn_xla_buffer_t *twice = tn_xla_ret(in, 0, TN_XLA_U8, 2), *size = tn_xla_ret(in, 1, TN_XLA_S64, 1);
        if (!tn_xla_complete(in)) return;
        for (int64_t i = 0; i < size->dims[0]; i++) {
          const tn_string_t *from = (const tn_string_t *)text->data + i;
          tn_string_t *to = (tn_string_t *)twice->data + i;
          tn_string_append(to, tn_string_data(from), tn_string_size(from));
          tn_string_append(to, tn_string_data(from), tn_string_size(from));
          ((int64_t *)size->data)[i] = (int64_t)tn_string_size(to);
        }
      }`)
    const library = await Library.isolate(path)
    onTestFinished(() => library.closeAsync())
    const models = [0, 4].map((maxBatchSize) =>
      defineModel({
        name: `twice${maxBatchSize}`,
        kernel: library.kernel('twice'),
        memory: library.memory,
        maxBatchSize,
      }),
    )
    const served = await Served.start(models)
    const data = ['a', '', 'a string that does not fit into its struct']
    for (const { name } of models) {
      const [status, json] = await served.infer(name, { inputs: [input('text', 'BYTES', [3], data)] })
      expect([status, json['outputs']]).toEqual([
        200,
        [
          { name: 'twice', datatype: 'BYTES', shape: [3], data: data.map((text) => text + text) },
          { name: 'size', datatype: 'INT64', shape: [3], data: data.map((text) => 2 * text.length) },
        ],
      ])
    }
  })

  test('a function must return strings for strings, and numbers for numbers', async () => {
    const numbers = defineModel({
      name: 'numbers',
      signature: '(text: string[n]) -> (same: string[n])',
      run: () => tensor('u8', [1], [65]),
    })
    const texts = defineModel({
      name: 'texts',
      signature: '(text: string[n]) -> (same: u8[n])',
      run: ({ text }) => text as never,
    })
    const served = await Served.start([numbers, texts])
    const request = { inputs: [input('text', 'BYTES', [1], ['A'])] }
    expect((await served.infer('numbers', request))[0]).toBe(500)
    expect((await served.infer('texts', request))[0]).toBe(500)
    expect(served.errors.map(String)).toEqual([
      expect.stringContaining('the output same of the model numbers must be a string tensor'),
      expect.stringContaining('the output same of the model texts must be a tensor of numbers'),
    ])
  })
})
