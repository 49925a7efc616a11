import { NativeLibrary } from '@tenon/core'
import { addressOf, functionAt } from '@tenon/core/internal'
import type { Row, Suite } from '@tenon/bench'
import { StringTensor } from '@tenon/tstring'
import { bodyOf } from './body.ts'

const COUNT = 64
/** The bytes for each string of the peers. */
const SLOT = 64
/** The memory behind which a peer that appends begins again with new memory. It is that of a large chunk of an arena. */
const CHUNK = 2 ** 20

/** Sets the strings of a tensor in turn, each to another text than before. */
function set(size: number, target: NonNullable<Row['target']>): Row {
  return {
    name: `set() of a string of ${size} bytes`,
    unit: 'ns',
    target,
    setup: () => {
      const texts = Array.from({ length: COUNT }, (_, i) => `${i % 10}`.padEnd(size, 'tensor of strings '))
      const tensor = StringTensor.from(texts)
      const slots = Buffer.alloc(SLOT * COUNT)
      const sources = Buffer.alloc(SLOT * COUNT)
      texts.forEach((text, i) => sources.write(text, i * SLOT))
      const copy = memcpy()
      const next = 'at.i = (at.i + 1) % 64'
      const at = (): { i: number } => ({ i: 0 })
      return {
        ours: bodyOf('at, tensor, texts', `tensor.set(${next}, texts[63 - at.i])`)(at(), tensor, texts),
        peers: {
          'Buffer.write': bodyOf('at, slots, texts', `slots.write(texts[63 - (${next})], at.i * 64)`)(
            at(),
            slots,
            texts,
          ),
          'Buffer.write into new memory': appends(texts),
          'memcpy by koffi': bodyOf('at, copy, from, to, size', `copy(to + (${next}) * 64, from + at.i * 64, size)`)(
            at(),
            copy,
            addressOf(sources),
            addressOf(slots),
            size,
          ),
          'an array': bodyOf('at, array, texts', `array[${next}] = texts[63 - at.i]`)(at(), [...texts], texts),
        },
      }
    },
  }
}

/** Writes each text behind the one before, as an arena does, because others may still refer to the old text. */
function appends(texts: readonly string[]): () => unknown {
  const at = { i: 0, end: 0, memory: Buffer.allocUnsafeSlow(CHUNK) }
  const renew = (): void => {
    at.memory = Buffer.allocUnsafeSlow(CHUNK)
    at.end = 0
  }
  const write = 'at.end += at.memory.write(texts[at.i = (at.i + 1) % 64], at.end)'
  return bodyOf('at, texts, renew, end', `at.end > end && renew(), ${write}`)(at, texts, renew, CHUNK - SLOT) as never
}

/** Binds memcpy() of the C library, whose addresses are numbers here. */
function memcpy(): (to: number, from: number, size: number) => unknown {
  const address = Number(NativeLibrary.open('libc.so.6').symbol('memcpy'))
  return functionAt(address, 'int32', ['uint64', 'uint64', 'uint64'])
}

/** One iteration makes a thousand strings, so its time in microseconds is that of one string in nanoseconds. */
const capacity: Row = {
  name: 'ofCapacity(1000, 64)',
  unit: 'ns',
  target: { '1000 subarrays': 0.5 },
  setup: () => ({
    ours: () => StringTensor.ofCapacity(1000, SLOT),
    peers: {
      'Buffer.alloc': () => Buffer.alloc(1000 * (24 + SLOT)),
      '1000 subarrays': () => {
        const memory = Buffer.alloc(1000 * SLOT)
        return Array.from({ length: 1000 }, (_, i) => memory.subarray(i * SLOT, (i + 1) * SLOT))
      },
    },
  }),
}

export const suite = {
  package: '@tenon/tstring',
  rows: [
    set(12, { 'Buffer.write': 2, 'memcpy by koffi': 1 }),
    set(40, { 'Buffer.write into new memory': 1.5 }),
    capacity,
  ],
} satisfies Suite
