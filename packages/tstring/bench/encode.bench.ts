import type { Row, Suite } from '@tenon/bench'
import { StringTensor } from '@tenon/tstring'
import { Utf8, vectorFromArray } from 'apache-arrow'
import { Builder } from 'flatbuffers'
import protobuf from 'protobufjs'
import { asciiStrings, COUNT, FEWER, mixedStrings } from './strings.ts'
import { MEMORY, ReusedMemory } from './reused-memory.ts'

/** A complete tensor of TF_TString, against only writing the same bytes. */
const ascii: Row = {
  name: '1 M strings to tf, ASCII',
  unit: 'ns',
  target: { 'buf.write': 1.2 },
  setup: () => {
    const strings = asciiStrings()
    const memory = new ReusedMemory(MEMORY)
    const out = Buffer.alloc(MEMORY, 1)
    return {
      ours: () => StringTensor.from(strings, { allocator: memory.reset() }).length,
      peers: {
        'buf.write': () => {
          let at = 0
          for (let i = 0; i < COUNT; i++) at += out.write(strings[i]!, at)
          return at
        },
      },
    }
  },
}

const mixed: Row = {
  name: '1 M strings to tf, 20 % non-ASCII',
  unit: 'ns',
  target: { 'buf.write': 1.2 },
  setup: () => {
    const strings = mixedStrings()
    const memory = new ReusedMemory(MEMORY)
    const out = Buffer.alloc(MEMORY, 2)
    return {
      ours: () => StringTensor.from(strings, { allocator: memory.reset() }).segment.byteSize,
      peers: {
        'buf.write': () => {
          let end = 0
          for (let i = 0; i < COUNT; i++) end += out.write(strings[i]!, end)
          return end
        },
      },
    }
  },
}

/** Other libraries that write the same strings into native memory. */
const libraries: Row = {
  name: '100 k strings, ASCII',
  unit: 'ns',
  target: { 'Arrow JS': 1 / 15, flatbuffers: 1, protobufjs: 1 },
  setup: () => {
    const strings = asciiStrings().slice(0, FEWER)
    const memory = new ReusedMemory(MEMORY)
    const message = new protobuf.Type('Strings').add(new protobuf.Field('strings', 1, 'string', 'repeated'))
    return {
      ours: () => StringTensor.from(strings, { allocator: memory.reset() }).shape[0],
      peers: {
        'Arrow JS': () => vectorFromArray(strings, new Utf8()).length,
        flatbuffers: () => {
          const builder = new Builder(2 ** 24)
          const offsets = strings.map((text) => builder.createString(text))
          builder.startVector(4, offsets.length, 4)
          for (let i = offsets.length - 1; i >= 0; i--) builder.addOffset(offsets[i]!)
          return builder.endVector()
        },
        protobufjs: () => message.encode({ strings }).finish().length,
      },
    }
  },
}

const tflite: Row = {
  name: '1 M strings to tflite, ASCII',
  unit: 'ns',
  setup: () => {
    const strings = asciiStrings()
    const memory = new ReusedMemory(MEMORY)
    const out = Buffer.alloc(MEMORY, 3)
    return {
      ours: () => StringTensor.from(strings, { layout: 'tflite', allocator: memory.reset() }).length,
      peers: {
        'buf.write': () => {
          let offset = 0
          for (let i = 0; i < COUNT; i++) offset += out.write(strings[i]!, offset)
          return offset
        },
      },
    }
  },
}

export const suite = { package: '@tenon/tstring', rows: [ascii, mixed, libraries, tflite] } satisfies Suite
