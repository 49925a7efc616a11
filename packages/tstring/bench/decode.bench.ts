import type { Row, Suite } from '@tenon/bench'
import { StringTensor } from '@tenon/tstring'
import { Utf8, vectorFromArray } from 'apache-arrow'
import { Builder, ByteBuffer } from 'flatbuffers'
import protobuf from 'protobufjs'
import type { FastBuffer } from '../src/text/fast-buffer.ts'
import { asciiStrings, COUNT, FEWER, mixedStrings, packed } from './strings.ts'

const ascii: Row = {
  name: 'toArray of 1 M strings, ASCII',
  unit: 'ns',
  target: { utf8Slice: 1.2 },
  setup: () => {
    const tensor = StringTensor.from(asciiStrings())
    const { data, offsets } = packed(asciiStrings())
    const bytes = data as FastBuffer
    return {
      ours: () => tensor.toArray(),
      peers: {
        utf8Slice: () => {
          const strings = new Array<string>(COUNT)
          for (let i = 0; i < COUNT; i++) strings[i] = bytes.utf8Slice(offsets[i]!, offsets[i + 1]!)
          return strings
        },
      },
    }
  },
}

const mixed: Row = {
  name: 'toArray of 1 M strings, 20 % non-ASCII',
  unit: 'ns',
  target: { utf8Slice: 1.2 },
  setup: () => {
    const tensor = StringTensor.from(mixedStrings())
    const { data, offsets } = packed(mixedStrings())
    const bytes = data as FastBuffer
    return {
      ours: () => tensor.toArray({}),
      peers: {
        utf8Slice: () => {
          const texts = new Array<string>(COUNT)
          for (let i = 0; i < COUNT; i++) texts[i] = bytes.utf8Slice(offsets[i]!, offsets[i + 1]!)
          return texts
        },
      },
    }
  },
}

const slices: Row = {
  name: 'toArray of 1 M strings in slices, ASCII',
  unit: 'ns',
  setup: () => {
    const tensor = StringTensor.from(asciiStrings())
    return {
      ours: () => tensor.toArray({ slices: true }),
      peers: { toArray: () => tensor.toArray({ slices: false }) },
    }
  },
}

const libraries: Row = {
  name: 'toArray of 100 k strings, ASCII',
  unit: 'ns',
  target: { 'Arrow JS': 1, flatbuffers: 1, protobufjs: 1 },
  setup: () => {
    const strings = asciiStrings().slice(0, FEWER)
    const tensor = StringTensor.from(strings)
    const vector = vectorFromArray(strings, new Utf8())
    const message = new protobuf.Type('Strings').add(new protobuf.Field('strings', 1, 'string', 'repeated'))
    const encoded = message.encode({ strings }).finish()
    const builder = new Builder(2 ** 24)
    const places = strings.map((text) => builder.createString(text))
    builder.startVector(4, places.length, 4)
    for (let i = places.length - 1; i >= 0; i--) builder.addOffset(places[i]!)
    builder.finish(builder.endVector())
    const buffer = new ByteBuffer(builder.asUint8Array())
    const elements = buffer.position() + buffer.readInt32(buffer.position()) + 4
    return {
      ours: () => tensor.toArray().length,
      peers: {
        'Arrow JS': () => [...vector].length,
        flatbuffers: () => {
          const texts = new Array<unknown>(FEWER)
          // oxlint-disable-next-line no-underscore-dangle -- how generated code reads a string
          for (let i = 0; i < FEWER; i++) texts[i] = buffer.__string(elements + 4 * i)
          return texts
        },
        protobufjs: () => message.decode(encoded),
      },
    }
  },
}

export const suite = { package: '@tenon/tstring', rows: [ascii, mixed, slices, libraries] } satisfies Suite
