import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { GRPCInferenceService, ModelInferRequestSchema } from '../src/generated/open_inference_pb.js'
import { decodeInferRequest, divideInferRequest } from '../src/grpc/decode-message.ts'
import { defineModel } from '../src/index.ts'
import { Caller } from './caller.ts'
import { echo } from './models.ts'

const { modelInfer } = GRPCInferenceService.method

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer)
const input = (name: string, size: number) => ({ name, datatype: 'FP32', shape: [BigInt(size)] })
const head = create(ModelInferRequestSchema, { modelName: 'm', modelVersion: '1', inputs: [input('x', 2)] })
const raw = (...contents: Uint8Array[]): Uint8Array =>
  toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { rawInputContents: contents }))
const LIMIT = 2 ** 20

describe('requests of gRPC that differ in their tensors only', () => {
  test('property: a message is divided into its first fields and its tensors', () => {
    const contents = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(fc.string(), contents, (id, tensors) => {
        const first = toBinary(ModelInferRequestSchema, { ...head, id })
        const message = Buffer.concat([first, raw(...tensors)])
        const parts = divideInferRequest(message, LIMIT)
        expect(parts.raw.map((part) => [...part])).toEqual(tensors.map((tensor) => [...tensor]))
        expect(Buffer.from(parts.head!)).toEqual(Buffer.from(first))
        expect(decodeInferRequest(message).rawInputContents).toEqual(parts.raw.map((part) => Buffer.from(part)))
      }),
    )
  })

  test('a message has no head if fields follow its tensors, if it is cut off, or if it has no tensors', () => {
    const first = Buffer.from(toBinary(ModelInferRequestSchema, head))
    const tensors = raw(floats(1, 2))
    const whole = Buffer.concat([first, tensors])
    expect(divideInferRequest(whole, LIMIT).head).toHaveLength(first.length)
    expect(divideInferRequest(Buffer.concat([tensors, first]), LIMIT).head).toBeUndefined()
    expect(divideInferRequest(Buffer.concat([whole, first]), LIMIT).head).toBeUndefined()
    expect(divideInferRequest(first, LIMIT).head).toBeUndefined()
    for (let length = 0; length < whole.length; length++) {
      expect(divideInferRequest(whole.subarray(0, length), LIMIT).head).toBeUndefined()
    }
    // A group, which no field of the message is.
    expect(divideInferRequest(Buffer.concat([whole, Buffer.of(0x43, 0x44)]), LIMIT).head).toBeUndefined()
  })

  test('a message with too many fields in its parameters and outputs is refused', () => {
    const field = (number: number, ...parts: Uint8Array[]): Buffer => {
      const content = Buffer.concat(parts)
      const length = [(content.length & 127) | 128, ((content.length >>> 7) & 127) | 128, content.length >>> 14]
      return Buffer.concat([Buffer.of((number << 3) | 2, ...length), content])
    }
    // An entry of a map: a key and a parameter that is a number.
    const entries = (number: number, count: number): Buffer =>
      Buffer.concat(
        Array.from({ length: count }, (_, i) =>
          Buffer.concat([
            Buffer.of((number << 3) | 2, 9, 10, 3),
            Buffer.from(i.toString(36).padStart(3)),
            Buffer.of(18, 2, 16, 1),
          ]),
        ),
      )
    const count = 80_000
    const few = 10_000
    for (const of of [
      (many: number) => entries(4, many),
      (many: number) => field(5, entries(4, many)),
      (many: number) => field(6, entries(2, many)),
    ]) {
      expect(() => divideInferRequest(of(count), LIMIT)).toThrow('a message must have at most 262144 fields and sizes')
      divideInferRequest(of(few), LIMIT)
      const { parameters, inputs, outputs } = decodeInferRequest(of(few))
      const given = inputs[0]?.parameters ?? outputs[0]?.parameters ?? parameters
      expect(Object.keys(given)).toHaveLength(few)
    }
    const names = field(6, Buffer.of(10, 0))
    divideInferRequest(names, LIMIT)
    expect(() => divideInferRequest(Buffer.concat(Array.from({ length: 140_000 }, () => names)), LIMIT)).toThrow(
      'fields',
    )
  })

  test('have their own answers, also in turn with other sizes, models and orders', async () => {
    const difference = defineModel({
      name: 'difference',
      signature: '(a: f32[n], b: f32[n]) -> (a_again: f32[n], b_again: f32[n])',
      run: ({ a, b }) => ({ a_again: a, b_again: b }),
    })
    const caller = await Caller.start([echo('f32', 'same'), difference])
    const answered = async (modelName: string, inputs: readonly string[], ...tensors: Uint8Array[]) => {
      const described = inputs.map((name, i) => input(name, tensors[i]!.length / 4))
      const { rawOutputContents } = await caller.call(modelInfer, {
        modelName,
        inputs: described,
        rawInputContents: tensors,
      })
      return rawOutputContents.map((bytes) => [...new Float32Array(Uint8Array.from(bytes).buffer)])
    }
    for (const value of [1, 2, 3]) {
      expect(await answered('same', ['x'], floats(value, 0))).toEqual([[value, 0]])
      expect(await answered('same', ['x'], floats(value))).toEqual([[value]])
      expect(await answered('difference', ['a', 'b'], floats(value), floats(9))).toEqual([[value], [9]])
      expect(await answered('difference', ['b', 'a'], floats(value), floats(9))).toEqual([[9], [value]])
    }
    const wrong = { modelName: 'same', inputs: [input('x', 2)], rawInputContents: [floats(1, 2, 3)] }
    for (let i = 0; i < 2; i++) {
      expect(await caller.errorOf(modelInfer, wrong)).toEqual(['INVALID_ARGUMENT', expect.stringContaining('got 12')])
    }
  })

  test('strings of other sizes are read as they are', async () => {
    const caller = await Caller.start([echo('string', 'texts')])
    const packed = (...texts: readonly string[]): Buffer =>
      Buffer.concat(
        texts.flatMap((text) => {
          const size = Buffer.alloc(4)
          size.writeUInt32LE(text.length)
          return [size, Buffer.from(text)]
        }),
      )
    for (const texts of [
      ['a', 'b'],
      ['', 'longer'],
      ['a', 'b'],
      ['x'.repeat(5000), ''],
      ['', 'longer'],
    ]) {
      const { rawOutputContents } = await caller.call(modelInfer, {
        modelName: 'texts',
        inputs: [{ name: 'x', datatype: 'BYTES', shape: [2n] }],
        rawInputContents: [packed(...texts)],
      })
      expect(Buffer.from(rawOutputContents[0]!)).toEqual(packed(...texts))
    }
  })

  test('a large message, whose memory is given back before the model runs, has an answer with its elements', async () => {
    const size = 2 ** 18
    const slow = defineModel({
      name: 'slow',
      signature: '(x: f32[n]) -> (y: f32[n])',
      run: async ({ x }) => {
        await sleep(1)
        return x
      },
    })
    const caller = await Caller.start([slow])
    const values = Float32Array.from({ length: size }, (_, i) => i)
    for (let i = 0; i < 3; i++) {
      const { rawOutputContents } = await caller.call(modelInfer, {
        modelName: 'slow',
        inputs: [input('x', size)],
        rawInputContents: [new Uint8Array(values.buffer)],
      })
      expect(Buffer.from(rawOutputContents[0]!).equals(Buffer.from(values.buffer))).toBe(true)
    }
  })
})
