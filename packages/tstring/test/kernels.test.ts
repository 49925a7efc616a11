import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gcAllocator } from '@tenon/core'
import { StringTensor } from '../src/index.ts'
import type { Image } from '../src/image/image.ts'
import { compare, convert, find, findInvalidUtf8, hash, measure, validate } from '../src/kernels/kernels.ts'
import { FORM, type Plan, type Target } from '../src/kernels/plan.ts'
import { hostAbi } from '../src/layouts/abi.ts'
import { encodePacked } from '../src/tensor/encode-packed.ts'
import { startOf } from '../src/memory/regions.ts'
import { awkward, bytesOf, everyAbi, everyLayout, hex } from './helpers.ts'
import { convertedBytes, hashes, indexOf, indexOfInvalid, orders } from './oracle.ts'

const strings = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...awkward)), { maxLength: 30 })

const plans: readonly Plan[] = [
  ...everyLayout.flatMap((layout) =>
    everyAbi.flatMap((abi) => [true, false].map((isInline): Plan => ({ layout, abi, form: FORM.OFFSET, isInline }))),
  ),
  { layout: 'arrow32', abi: hostAbi, form: FORM.OFFSET, isInline: false },
  { layout: 'arrow64', abi: hostAbi, form: FORM.OFFSET, isInline: false },
]

/** Converts strings. Returns the target and a copy of its memory. */
function converted(
  source: Image,
  selection: Uint32Array | undefined,
  plan: Plan,
): { bytes: Uint8Array; target: Target } {
  const count = selection?.length ?? source.count
  const { tableSize, dataSize } = measure(source, selection, count, plan)
  const whole = gcAllocator.allocate(tableSize + dataSize, 64)
  const target = { ...plan, table: whole.asSlice(0, tableSize), data: whole.asSlice(tableSize) }
  convert(source, selection, count, target)
  return { bytes: bytesOf(whole), target }
}

describe('the kernels in C', () => {
  it('convert to the bytes that the encoders of single elements write', () => {
    fc.assert(
      fc.property(strings, fc.boolean(), (values, picks) => {
        const selection = picks ? Uint32Array.from(values, (_, i) => (i * 7) % values.length) : undefined
        const source = encodePacked(values, 'replace')
        const selected = selection === undefined ? values : Array.from(selection, (i) => values[i]!)
        for (const plan of plans) {
          expect(Buffer.from(converted(source, selection, plan).bytes)).toEqual(convertedBytes(selected, plan))
        }
      }),
      { numRuns: 50 },
    )
  })

  it('write pointers into the target and onto the source', () => {
    const source = encodePacked(awkward, 'replace')
    const starts = awkward.map((_, i) => Buffer.concat(awkward.slice(0, i)).length)
    for (const form of [FORM.POINTER, FORM.BORROWED]) {
      for (const layout of ['tf', 'rfc16', 'rfc24'] as const) {
        const plan = { layout, abi: hostAbi, form, isInline: false } as const
        const { bytes, target } = converted(source, undefined, plan)
        const addressOf = (index: number, at: number): number => {
          if (form === FORM.POINTER) return startOf(target.data) + at
          return awkward[index]!.length === 0 ? 0 : startOf(source.data) + starts[index]!
        }
        expect(Buffer.from(bytes)).toEqual(convertedBytes(awkward, plan, addressOf))
      }
    }
  })

  it('compare, find, hash and check UTF-8 as the readers of single elements do', () => {
    fc.assert(
      fc.property(strings, strings, fc.nat(2 ** 32 - 1), (values, others, seed) => {
        for (const layout of everyLayout) {
          const { image } = StringTensor.from(values, { layout })
          const other = encodePacked(
            Array.from(values, (value, i) => others[i] ?? value),
            'replace',
          )
          expect(compare(image, other)).toEqual(orders(image, other))
          expect(hash(image, seed)).toEqual(hashes(image, seed))
          expect(findInvalidUtf8(image, 0)).toBe(indexOfInvalid(image, 0))
          const needle = others[0] ?? new Uint8Array(0)
          expect(find(image, needle, 1)).toBe(indexOf(image, needle, 1))
          expect(find(image, values.at(-1) ?? needle, 0)).toBeLessThanOrEqual(values.length)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('check every kind of UTF-8 as the platform does', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.constantFrom(0x61, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5),
            fc.integer({ min: 0x80, max: 0xbf }),
          ),
          { maxLength: 12 },
        ),
        (bytes) => {
          const { image } = StringTensor.from([
            Uint8Array.from(bytes),
            Uint8Array.from([...Buffer.from('ascii ascii ascii'), ...bytes]),
          ])
          return findInvalidUtf8(image, 0) === indexOfInvalid(image, 0)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('hash strings to the published values of XXH32', () => {
    const tensor = StringTensor.from(['', 'a', 'abc', 'Nobody inspects the spammish repetition'])
    expect([...tensor.hashes()]).toEqual([0x02cc5d05, 0x550d7456, 0x32d153ff, 0xe2293b2f])
    expect([0, 1, 2, 3].map((i) => tensor.hash(i))).toEqual([...tensor.hashes()])
    expect(tensor.hash(2, 42)).toBe(tensor.hashes(42)[2])
  })

  it('name the element that breaks a rule, at every position in a batch', () => {
    const values = Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? 'short' : `longer than a struct holds, ${i}`))
    const size = (count: number): number => values.slice(0, count).reduce((sum, text) => sum + text.length, 0)
    for (const index of [0, 1, 63, 64, 65, 127, 128, 299]) {
      const isShort = index % 2 === 0
      const faults: readonly (readonly [rule: string, at: number, bytes: string, budget?: number])[] = [
        ['struct-type', 0, '01'],
        ['budget', 0, '', size(index + 1) - 1],
        ...(isShort
          ? ([
              ['small-size', 0, 'fc'],
              ['small-nul', 6, '78'],
            ] as const)
          : ([
              ['offset-start', 4, '10000000'],
              ['offset-end', 4, 'ffffff7f'],
            ] as const)),
      ]
      for (const [rule, at, bytes, budget = size(values.length)] of faults) {
        const { image, segment } = StringTensor.from(values, { storage: 'packed' })
        segment.block.bytes.set(hex(bytes), segment.base + 24 * index + at)
        const run = (): unknown => validate(image, { strict: true, writable: true, budget })
        expect(run).toThrow(expect.objectContaining({ details: expect.objectContaining({ rule, index }) }))
      }
    }
  })

  it('find two strings that share bytes among many', () => {
    const values = Array.from({ length: 300 }, (_, i) => `longer than a struct holds, ${i}`)
    const { image, segment } = StringTensor.from(values, { storage: 'packed' })
    const options = { strict: true, writable: true, budget: segment.byteSize }
    const { view } = segment.block
    const at = segment.base + 24 * 200 + 4
    expect(validate(image, options).total).toBeGreaterThan(0)
    view.setUint32(at, view.getUint32(at, true) - 1, true)
    expect(() => validate(image, options)).toThrow(/overlap.*element 200/)
  })
})
