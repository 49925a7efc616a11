import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { hostAbi } from '../src/layouts/abi.ts'
import type { LayoutOptions } from '../src/tensor/convert-to.ts'
import type { Layout } from '../src/layouts/layout.ts'
import { awkward, bytesOf, everyAbi, everyLayout, memory } from './helpers.ts'
import { referenceStrings } from './reference.ts'

/** Every layout of a tensor in memory. */
const stations: readonly [Layout, LayoutOptions][] = [
  ...everyLayout.flatMap((layout) =>
    everyAbi.map((abi): [Layout, LayoutOptions] => [layout, { abi, storage: 'packed' }]),
  ),
  ...everyLayout.slice(0, 3).flatMap((layout): [Layout, LayoutOptions][] => [
    [layout, { storage: 'arena' }],
    [layout, { storage: 'malloc' }],
    [layout, { storage: 'packed', inline: false }],
    [layout, { storage: 'arena', inline: false }],
  ]),
]

const byteStrings = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 30 }),
    fc.uint8Array({ maxLength: 300 }),
    fc.constantFrom(...awkward),
    fc.string({ unit: 'binary' }).map((text) => Uint8Array.from(Buffer.from(text))),
  ),
  { maxLength: 40 },
)

const contents = (tensor: StringTensor): Uint8Array[] =>
  Array.from({ length: tensor.length }, (_, i) => Uint8Array.from(tensor.bytes(i)))

describe('conversion through all layouts and ABIs', () => {
  it('keeps the bytes', () => {
    fc.assert(
      fc.property(byteStrings, fc.shuffledSubarray([...stations], { minLength: stations.length }), (strings, order) => {
        const [first, ...rest] = order
        const owned = [StringTensor.from(strings, { layout: first![0], ...first![1] })]
        for (const [layout, options] of rest) owned.push(owned.at(-1)!.to(layout, options))
        for (const tensor of owned) {
          expect(contents(tensor)).toEqual(strings)
          tensor[Symbol.dispose]()
        }
      }),
      { numRuns: 60 },
    )
  })

  it('makes packed tensors that are strictly valid on every ABI, also for the reference', () => {
    fc.assert(
      fc.property(byteStrings, (strings) => {
        for (const [layout, options] of stations.filter(([, { storage }]) => storage === 'packed')) {
          const { segment } = StringTensor.from(strings, { layout, ...options })
          const { abi = hostAbi } = options
          const bytes = bytesOf(segment)
          const again = StringTensor.ofSegment(memory(bytes), { layout, abi, shape: [strings.length] })
          expect(contents(again)).toEqual(strings)
          const reference = referenceStrings(bytes, strings.length, { layout, abi, strict: true, budget: bytes.length })
          expect(reference).toEqual(strings)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('keeps text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (strings) => {
        for (const layout of everyLayout) expect(StringTensor.from(strings, { layout }).toArray()).toEqual(strings)
      }),
    )
  })
})
