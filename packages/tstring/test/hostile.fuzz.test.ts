import { describe, expect, it } from 'vitest'
import { MalformedTensorError, StringTensor } from '../src/index.ts'
import type { Image } from '../src/image/image.ts'
import { hash, validate, type ValidateOptions } from '../src/kernels/kernels.ts'
import type { Abi } from '../src/layouts/abi.ts'
import { awkward, bytesOf, everyAbi, everyLayout, memory } from './helpers.ts'
import { hashes } from './oracle.ts'
import { referenceStrings } from './reference.ts'

/** The seconds of a long run for all layouts. A short run has a fixed number of tensors for each layout. */
const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const MUTANTS = 2_000

/** A small generator, which repeats a failure from its seed. */
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

/** Picks a few strings, and sometimes enough for more than one batch of the kernels. */
function pick(random: Random): Uint8Array[] {
  const length = random.below(64) === 0 ? random.below(200) : random.below(6)
  return Array.from({ length }, () => awkward[random.below(awkward.length)]!.slice(0, random.below(80)))
}

/** Returns the sum of all sizes, and of those that are larger than a shipped SMALL. */
function sumsOf(strings: readonly Uint8Array[]): { total: number; notSmall: number } {
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0)
  const sizes = strings.map(({ length }) => length)
  return { total: sum(sizes), notSmall: sum(sizes.filter((size) => size > 22)) }
}

/** Returns what `run` returns, or the details of the rule that it finds broken. */
function outcome<T>(run: () => T): unknown {
  try {
    return run()
  } catch (error) {
    if (error instanceof MalformedTensorError) return error.details
    throw error
  }
}

describe('hostile bytes', () => {
  it.each(everyLayout)(
    '%s: the validator agrees with the reference, and reading unchecked bytes gives strings or an error',
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
        const options: ValidateOptions = {
          strict: random.below(2) === 0,
          writable: random.below(4) === 0,
          budget: random.below(8) === 0 ? random.below(100) : bytes.length,
        }
        const verdict = outcome(() => validate(image, options))
        const context = `seed ${seed}, mutant ${n}`
        const reference = referenceStrings(bytes, count, { layout, abi, ...options })
        expect(verdict, context).toEqual(Array.isArray(reference) ? sumsOf(reference) : reference)
        // Reading unchecked bytes must end in strings or in an error, never in a crash.
        expect(
          outcome(() => hash(image, 0)),
          context,
        ).toEqual(outcome(() => hashes(image, 0)))
        if (!Array.isArray(reference)) continue
        accepted++
        const { total } = sumsOf(reference)
        const tensor = StringTensor.ofSegment(segment, {
          layout,
          abi,
          shape: [count],
          validate: 'lenient',
          budget: total,
        })
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
