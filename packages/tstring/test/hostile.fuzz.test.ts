import { describe, expect, it } from 'vitest'
import { MalformedTensorError, StringTensor } from '../src/index.ts'
import type { Image } from '../src/image/image.ts'
import { nativeKernels } from '../src/kernels/native.ts'
import { scriptKernels } from '../src/kernels/script.ts'
import type { Kernels } from '../src/kernels/kernels.ts'
import type { Abi } from '../src/layouts/abi.ts'
import { awkward, bytesOf, everyAbi, everyLayout, memory } from './helpers.ts'
import { referenceStrings } from './reference.ts'

/** Tensors for each layout: ten thousand, or as many as fit into the seconds that a long run has for all of them. */
const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const MUTANTS = 10_000

/** A small generator, so that a failure can be repeated from its seed. */
class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * limit)
  }
}

const interesting = [0, 1, 2, 3, 4, 0x16, 0x58, 0x5c, 0x7f, 0x80, 0xfc, 0xfe, 0xff]

/** Changes some bytes, mostly in the table, and sometimes the size. */
function mutate(bytes: Uint8Array, table: number, random: Random): Uint8Array {
  const size = random.below(8) === 0 ? random.below(bytes.length + 9) : bytes.length
  const mutant = new Uint8Array(size)
  mutant.set(bytes.subarray(0, size))
  for (let n = size === 0 ? 0 : random.below(4); n > 0; n--) {
    const at = random.below(4) === 0 ? random.below(size) : random.below(Math.min(size, table + 4))
    mutant[at] = random.below(2) === 0 ? interesting[random.below(interesting.length)]! : random.below(256)
  }
  return mutant
}

/** A few strings; sometimes many, so that what is checked and converted in batches has more than one. */
function pick(random: Random): Uint8Array[] {
  const length = random.below(64) === 0 ? random.below(200) : random.below(6)
  return Array.from({ length }, () => awkward[random.below(awkward.length)]!.slice(0, random.below(80)))
}

/** What a validator says: the sums of the sizes, or what is wrong. */
function verdict(
  kernels: Kernels,
  image: Image,
  options: { strict: boolean; writable: boolean; budget: number },
): unknown {
  try {
    const { total, notSmall } = kernels.validate(image, options)
    return { total, notSmall }
  } catch (error) {
    if (error instanceof MalformedTensorError) return error.details
    throw error
  }
}

/** Reads all that there is, checked or not: it must end in strings or in an error, never in a fault. */
function readAll(image: Image): string {
  const results: unknown[] = []
  for (const kernels of [nativeKernels, scriptKernels]) {
    try {
      results.push([...kernels.hash(image, 0)])
    } catch (error) {
      if (!(error instanceof MalformedTensorError)) throw error
      results.push(error.details)
    }
  }
  expect(results[0]).toEqual(results[1])
  return JSON.stringify(results)
}

describe('hostile bytes', () => {
  it.each(everyLayout)(
    '%s: validators agree with each other and with a slow one, and no reader goes astray',
    (layout) => {
      const seed = seconds > 0 ? Date.now() >>> 0 : 1
      const random = new Random(seed)
      const end = Date.now() + (seconds * 1000) / everyLayout.length
      let accepted = 0
      for (let n = 0; seconds > 0 ? Date.now() < end : n < MUTANTS; n++) {
        const strings = pick(random)
        const abi: Abi = everyAbi[random.below(4)]!
        const whole = StringTensor.from(strings, { layout, abi, storage: 'packed', inline: random.below(2) === 0 })
        const bytes = mutate(bytesOf(whole.segment), 24 * strings.length, random)
        const count = random.below(16) === 0 ? random.below(10) : strings.length
        const segment = memory(bytes)
        const image: Image = { layout, abi, count, table: segment, data: segment, regions: undefined, foreign: false }
        const options = {
          strict: random.below(2) === 0,
          writable: random.below(4) === 0,
          budget: random.below(8) === 0 ? random.below(100) : bytes.length,
        }
        const native = verdict(nativeKernels, image, options)
        const script = verdict(scriptKernels, image, options)
        const context = `seed ${seed}, mutant ${n}`
        expect(script, context).toEqual(native)
        const reference = referenceStrings(bytes, count, { layout, abi, ...options })
        const total = (native as { total?: number }).total
        expect(total !== undefined, context).toBe(reference !== 'refused')
        readAll(image)
        if (total === undefined || reference === 'refused') continue
        accepted++
        const tensor = StringTensor.over(segment, { layout, abi, shape: [count], validate: 'lenient', budget: total })
        expect(
          Array.from({ length: count }, (_, i) => Uint8Array.from(tensor.bytes(i))),
          context,
        ).toEqual(reference)
        expect(tensor.to('tf').toArray()).toEqual(tensor.toArray())
      }
      expect(accepted).toBeGreaterThan(seconds > 0 ? 0 : MUTANTS / 10)
    },
  )
})
