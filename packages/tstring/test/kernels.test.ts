import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gcAllocator } from '@tenon/core'
import { StringTensor } from '../src/index.ts'
import { nativeKernels } from '../src/kernels/native.ts'
import { scriptKernels } from '../src/kernels/script.ts'
import { kernels } from '../src/kernels/choose.ts'
import { FORM, type Plan } from '../src/kernels/kernels.ts'
import { hostAbi } from '../src/layouts/abi.ts'
import { encodePacked } from '../src/tensor/encode-packed.ts'
import { awkward, bytesOf, everyAbi, everyLayout, hex } from './helpers.ts'

const strings = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...awkward)), { maxLength: 30 })

const plans: readonly Plan[] = [
  ...everyLayout.flatMap((layout) =>
    everyAbi.flatMap((abi) => [true, false].map((isInline): Plan => ({ layout, abi, form: FORM.OFFSET, isInline }))),
  ),
  { layout: 'arrow32', abi: hostAbi, form: FORM.OFFSET, isInline: false },
  { layout: 'arrow64', abi: hostAbi, form: FORM.OFFSET, isInline: false },
]

/** What both kernels write for a plan, and must write alike. */
function converted(
  which: typeof nativeKernels,
  values: Uint8Array[],
  selection: Uint32Array | undefined,
  plan: Plan,
): Uint8Array {
  const source = encodePacked(values, 'replace')
  const count = selection?.length ?? values.length
  const { tableSize, dataSize } = which.measure(source, selection, count, plan)
  const whole = gcAllocator.allocate(tableSize + dataSize, 64)
  which.convert(source, selection, count, {
    ...plan,
    table: whole.asSlice(0, tableSize),
    data: whole.asSlice(tableSize),
  })
  return bytesOf(whole)
}

describe('the kernels in C and in JavaScript', () => {
  it('C is chosen where it can be loaded', () => expect(kernels()).toBe(nativeKernels))

  it('convert to the same bytes', () => {
    fc.assert(
      fc.property(strings, fc.boolean(), (values, picks) => {
        const selection = picks ? Uint32Array.from(values, (_, i) => (i * 7) % values.length) : undefined
        for (const plan of plans) {
          expect(converted(scriptKernels, values, selection, plan)).toEqual(
            converted(nativeKernels, values, selection, plan),
          )
        }
      }),
      { numRuns: 50 },
    )
  })

  it('write the same pointers', () => {
    for (const form of [FORM.POINTER, FORM.BORROWED]) {
      for (const layout of ['tf', 'rfc16', 'rfc24'] as const) {
        const source = encodePacked(awkward, 'replace')
        const plan = { layout, abi: hostAbi, form, isInline: false } as const
        const { tableSize, dataSize } = nativeKernels.measure(source, undefined, source.count, plan)
        expect(scriptKernels.measure(source, undefined, source.count, plan)).toEqual({ tableSize, dataSize })
        const whole = gcAllocator.allocate(tableSize + dataSize, 64)
        const target = { ...plan, table: whole.asSlice(0, tableSize), data: whole.asSlice(tableSize) }
        nativeKernels.convert(source, undefined, source.count, target)
        const native = bytesOf(whole)
        scriptKernels.convert(source, undefined, source.count, target)
        expect(bytesOf(whole)).toEqual(native)
      }
    }
  })

  it('compare, find, hash and judge alike', () => {
    fc.assert(
      fc.property(strings, strings, fc.nat(2 ** 32 - 1), (values, others, seed) => {
        for (const layout of everyLayout) {
          const { image } = StringTensor.from(values, { layout })
          const other = encodePacked(
            Array.from(values, (value, i) => others[i] ?? value),
            'replace',
          )
          expect(scriptKernels.compare(image, other)).toEqual(nativeKernels.compare(image, other))
          expect(scriptKernels.hash(image, seed)).toEqual(nativeKernels.hash(image, seed))
          expect(scriptKernels.findInvalidUtf8(image, 0)).toBe(nativeKernels.findInvalidUtf8(image, 0))
          const needle = others[0] ?? new Uint8Array(0)
          expect(scriptKernels.find(image, needle, 1)).toBe(nativeKernels.find(image, needle, 1))
          expect(nativeKernels.find(image, values.at(-1) ?? needle, 0)).toBeLessThanOrEqual(values.length)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('judge every kind of UTF-8 as the platform does', () => {
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
          return nativeKernels.findInvalidUtf8(image, 0) === scriptKernels.findInvalidUtf8(image, 0)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('hash by XXH32, whose numbers are known', () => {
    const tensor = StringTensor.from(['', 'a', 'abc', 'Nobody inspects the spammish repetition'])
    expect([...tensor.hashes()]).toEqual([0x02cc5d05, 0x550d7456, 0x32d153ff, 0xe2293b2f])
    expect([0, 1, 2, 3].map((i) => tensor.hash(i))).toEqual([...tensor.hashes()])
    expect(tensor.hash(2, 42)).toBe(tensor.hashes(42)[2])
  })

  it('name the element that is wrong, wherever it stands among many', () => {
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
        for (const which of [nativeKernels, scriptKernels]) {
          const validate = (): unknown => which.validate(image, { strict: true, writable: true, budget })
          expect(validate).toThrow(expect.objectContaining({ details: expect.objectContaining({ rule, index }) }))
        }
      }
    }
  })

  it('find strings that share bytes among many', () => {
    const values = Array.from({ length: 300 }, (_, i) => `longer than a struct holds, ${i}`)
    const { image, segment } = StringTensor.from(values, { storage: 'packed' })
    const options = { strict: true, writable: true, budget: segment.byteSize }
    const { view } = segment.block
    const at = segment.base + 24 * 200 + 4
    for (const which of [nativeKernels, scriptKernels]) expect(which.validate(image, options).total).toBeGreaterThan(0)
    view.setUint32(at, view.getUint32(at, true) - 1, true)
    for (const which of [nativeKernels, scriptKernels])
      expect(() => which.validate(image, options)).toThrow(/overlap.*element 200/)
  })
})
