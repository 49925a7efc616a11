import type { Row, Suite } from '@tenon/bench'
import { StringTensor, type Layout } from '@tenon/tstring'
import { cLoops } from './c-loops.ts'
import { memcpyEach } from './memcpy-each.ts'
import { MEMORY, ReusedMemory } from './reused-memory.ts'
import { bodyOf } from './body.ts'
import { asciiStrings, COUNT, packed } from './strings.ts'

const layouts: readonly Layout[] = ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite']
function conversion(from: Layout, to: Layout): Row {
  return {
    name: `1 M strings, ${from} to ${to}`,
    unit: 'ns',
    target: { 'memcpy each': 1.3 },
    setup: () => {
      const source = StringTensor.from(asciiStrings(), { layout: from })
      const memory = new ReusedMemory(MEMORY)
      return {
        ours: bodyOf('source, to, memory', 'source.to(to, { allocator: memory.reset() })')(source, to, memory),
        peers: { 'memcpy each': memcpyEach(source) },
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
  rows: [
    ...layouts.map((to) => conversion('tf', to)),
    ...layouts.slice(1).map((from) => conversion(from, 'tf')),
    ...layouts.slice(1).map((layout) => conversion(layout, layout)),
    conversion('tflite', 'legacy'),
    conversion('legacy', 'tflite'),
    malloc,
  ],
} satisfies Suite
