import { create, toBinary } from '@bufbuild/protobuf'
import { tensor } from '@tenon/core'
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
        expect(parts.raw.map((part) => [...part])).toEqual(tensors.map((one) => [...one]))
        expect(Buffer.from(message.subarray(0, parts.headLength))).toEqual(Buffer.from(first))
        expect(decodeInferRequest(message).rawInputContents).toEqual(parts.raw.map((part) => Buffer.from(part)))
      }),
    )
  })

  test('a message has no head if fields follow its tensors, if it is cut off, or if it has no tensors', () => {
    const first = Buffer.from(toBinary(ModelInferRequestSchema, head))
    const tensors = raw(floats(1, 2))
    const whole = Buffer.concat([first, tensors])
    expect(divideInferRequest(whole, LIMIT).headLength).toBe(first.length)
    expect(divideInferRequest(Buffer.concat([tensors, first]), LIMIT).headLength).toBeUndefined()
    expect(divideInferRequest(Buffer.concat([whole, first]), LIMIT).headLength).toBeUndefined()
    expect(divideInferRequest(first, LIMIT).headLength).toBeUndefined()
    for (let length = 0; length < whole.length; length++) {
      expect(divideInferRequest(whole.subarray(0, length), LIMIT).headLength).toBeUndefined()
    }
    // A group, which no field of the message is.
    expect(divideInferRequest(Buffer.concat([whole, Buffer.of(0x43, 0x44)]), LIMIT).headLength).toBeUndefined()
  })

  test('a field in the form of another type, and one that is longer than its message, are refused', () => {
    const plain = Buffer.from(toBinary(ModelInferRequestSchema, head))
    const field = (number: number, ...content: number[]): number[] => [(number << 3) | 2, content.length, ...content]
    const wrong: Readonly<Record<string, readonly number[]>> = {
      'raw_input_contents as a number': [0x38, 8],
      'a name as a number': [0x08, 1],
      'a number as bytes': field(4, 10, 1, 97, ...field(2, 0x0a, 0)),
      'a tensor name of eight bytes': field(5, 0x09, 0, 0, 0, 0, 0, 0, 0, 0),
      'a shape whose last number goes on behind it': field(5, 0x1a, 1, 0x80),
      'a number that ends behind its message': field(5, 0x18, 0x80),
      'four bytes of numbers that have eight': field(5, ...field(5, 0x3a, 4, 0, 0, 0, 0)),
    }
    for (const [name, bytes] of Object.entries(wrong)) {
      const message = Buffer.concat([plain, Buffer.from(bytes), raw(floats(1, 2))])
      expect(() => divideInferRequest(message, LIMIT), name).toThrow('the message must be a ModelInferRequest')
    }
  })

  test('property: what the head of a changed message says is what its reader says', () => {
    const parameters = { p: { parameterChoice: { case: 'int64Param' as const, value: 300n } } }
    const contents = { fp32Contents: [1, 2], intContents: [300, -1] }
    const whole = toBinary(
      ModelInferRequestSchema,
      create(ModelInferRequestSchema, {
        modelName: 'm',
        id: 'i',
        parameters,
        inputs: [{ ...input('x', 300), parameters, contents }, input('y', 2)],
        outputs: [{ name: 'z', parameters }],
        rawInputContents: [floats(1, 2), floats(3)],
      }),
    )
    const place = fc.nat({ max: whole.length - 1 })
    const byte = fc.oneof(fc.nat({ max: 255 }), fc.constantFrom(0x08, 0x18, 0x38, 0x3a, 1, 2, 3, 4, 5, 8))
    const change = fc.record({ place, byte, removed: fc.nat({ max: 2 }), isAdded: fc.boolean() })
    const read = (bytes: Uint8Array): ReturnType<typeof decodeInferRequest> | undefined => {
      try {
        return decodeInferRequest(bytes)
      } catch {
        return undefined
      }
    }
    let heads = 0
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const changed = [...whole]
        for (const { place: at, byte: added, removed, isAdded } of changes)
          changed.splice(at, removed, ...(isAdded ? [added] : []))
        const message = Buffer.from(changed)
        let parts: ReturnType<typeof divideInferRequest>
        try {
          parts = divideInferRequest(message, LIMIT)
        } catch {
          return
        }
        const { headLength } = parts
        const all = read(message)
        if (all === undefined || headLength === undefined) return
        const first = read(message.subarray(0, headLength))
        heads++
        expect({ ...first, rawInputContents: parts.raw.map((part) => Buffer.from(part)) }).toEqual({
          ...all,
          rawInputContents: all.rawInputContents.map((part) => Buffer.from(part)),
        })
      }),
      { numRuns: 5000 },
    )
    expect(heads).toBeGreaterThan(200)
  })

  test('a message that its reader understands in another way gives its head no other model', async () => {
    const sum = (name: string, factor: number) =>
      defineModel({
        name,
        signature: '(x: f32[n], y: f32[n]) -> (z: f32[n])',
        run: ({ x, y }) =>
          tensor(
            'f32',
            x.shape,
            x.toArray().map((value, i) => factor * (value + y.toArray()[i]!)),
          ),
      })
    const caller = await Caller.start([sum('victim', 1), sum('other', 1000)])
    const inputs = [input('x', 2), input('y', 2)]
    const victim = toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { modelName: 'victim', inputs }))
    // The number 8 where bytes belong is read as the size of the next field.
    const attack = Buffer.concat([
      victim,
      raw(floats(0, 0)),
      Buffer.of(0x38, 8),
      raw(new Uint8Array(6)),
      Buffer.from('\n\x05other'),
    ])
    expect(await caller.errorOf(modelInfer, attack)).toEqual([
      'INVALID_ARGUMENT',
      'the message must be a ModelInferRequest',
    ])
    for (let i = 0; i < 2; i++) {
      const { modelName, rawOutputContents } = await caller.call(
        modelInfer,
        Buffer.concat([victim, raw(floats(1, 2), floats(3, 4))]),
      )
      expect([modelName, Buffer.from(rawOutputContents[0]!)]).toEqual(['victim', Buffer.from(floats(4, 6))])
    }
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
            Buffer.of((number << 3) | 2, 10, 10, 4),
            Buffer.from(i.toString(36).padStart(4)),
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
