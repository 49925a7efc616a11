import type { Row, Suite } from '@tenon/bench'
import { StringTensor, type Layout } from '@tenon/tstring'
import { cLoops } from './c-loops.ts'
import { ReusedMemory } from './reused-memory.ts'
import { asciiStrings, COUNT, packed } from './strings.ts'

const layouts: readonly Layout[] = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']
const MEMORY = 160 * 2 ** 20

/** From TF_TString, against one memcpy for each of the same strings. */
function fromTf(to: Layout): Row {
  return {
    name: `1 M strings, tf to ${to}`,
    unit: 'ns',
    target: { 'memcpy each': 1.3 },
    setup: () => {
      const source = StringTensor.from(asciiStrings())
      const memory = new ReusedMemory(MEMORY)
      const out = new Uint8Array(MEMORY).fill(1)
      const { memcpyEachStruct } = cLoops()
      return {
        ours: () => source.to(to, { allocator: memory.reset() }),
        peers: { 'memcpy each': () => memcpyEachStruct(source.segment, COUNT, out) },
      }
    },
  }
}

/** To TF_TString, against one memcpy a string. */
function toTf(from: Layout): Row {
  return {
    name: `1 M strings, ${from} to tf`,
    unit: 'ns',
    target: { 'memcpy each': 1.3 },
    setup: () => {
      const { data, offsets } = packed(asciiStrings())
      const source = StringTensor.from(asciiStrings(), { layout: from })
      const memory = new ReusedMemory(MEMORY)
      const out = new Uint8Array(data.length).fill(1)
      const { memcpyEach } = cLoops()
      return {
        ours: () => source.to('tf', { allocator: memory.reset() }),
        peers: { 'memcpy each': () => memcpyEach(data, offsets, COUNT, out) },
      }
    },
  }
}

const malloc: Row = {
  name: '1 M strings, tflite to tf in blocks of malloc, and freed',
  unit: 'ns',
  target: { 'TF_TString_Copy each': 1.2 },
  setup: () => {
    const { data, offsets } = packed(asciiStrings())
    const source = StringTensor.from(asciiStrings(), { layout: 'tflite' })
    const memory = new ReusedMemory(MEMORY)
    const structs = new Uint8Array(24 * COUNT).fill(1)
    const { copyEach } = cLoops()
    return {
      ours: () => source.to('tf', { storage: 'malloc', allocator: memory.reset() })[Symbol.dispose](),
      peers: { 'TF_TString_Copy each': () => copyEach(data, offsets, COUNT, structs) },
    }
  },
}

export const suite = {
  package: '@tenon/tstring',
  rows: [...layouts.map(fromTf), ...layouts.slice(1).map(toTf), malloc],
} satisfies Suite
