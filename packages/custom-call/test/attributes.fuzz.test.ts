import {
  array,
  f32,
  f64,
  pred,
  s16,
  s32,
  s64,
  s8,
  TargetRegistry,
  u16,
  u32,
  u64,
  u8,
  type AttributeDictionary,
  type AttributeValue,
  type ReadAttributes,
} from '@tenon/custom-call'
import fc from 'fast-check'
import { test } from 'vitest'
import { seenAttributes } from './kernels.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 1000 } : { numRuns: 300 }

/** An attribute, and the text by which a handler should describe it. */
interface Expected {
  readonly value: AttributeValue
  readonly text: string
}

/** Numbers that C and JavaScript print in the same way. */
const small = fc.integer({ min: -99_999, max: 99_999 })
const text = fc.string({ unit: fc.constantFrom('a', 'B', '0', ' ', 'é', '\u{10000}', '\uff61'), maxLength: 8 })
const name = fc.string({ unit: fc.constantFrom('a', 'b', '_', 'é', '\u{10000}', '\uff61'), minLength: 1, maxLength: 3 })

function integer(
  label: string,
  low: bigint,
  high: bigint,
  make: (value: bigint) => AttributeValue,
): fc.Arbitrary<Expected> {
  return fc.bigInt(low, high).map((value) => ({ value: make(value), text: `${label}:${value}` }))
}

const leaf: fc.Arbitrary<Expected> = fc.oneof(
  integer('S8', -128n, 127n, s8),
  integer('S16', -(2n ** 15n), 2n ** 15n - 1n, s16),
  integer('S32', -(2n ** 31n), 2n ** 31n - 1n, s32),
  integer('S64', -(2n ** 63n), 2n ** 63n - 1n, s64),
  integer('U8', 0n, 255n, u8),
  integer('U16', 0n, 2n ** 16n - 1n, u16),
  integer('U32', 0n, 2n ** 32n - 1n, u32),
  integer('U64', 0n, 2n ** 64n - 1n, u64),
  small.map((n) => ({ value: f32(n), text: `F32:${n}` })),
  small.map((n) => ({ value: f64(n / 4), text: `F64:${n / 4}` })),
  fc.boolean().map((value) => ({ value: pred(value), text: `PRED:${value}` })),
  text.map((value) => ({ value, text: `STRING:"${value}"` })),
  fc.array(small, { maxLength: 5 }).map((list) => ({ value: array('f32', list), text: `F32[${list.join()}]` })),
  fc
    .array(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 5 })
    .map((list) => ({ value: BigUint64Array.from(list), text: `U64[${list.join()}]` })),
)

/** A dictionary, and its text with the names in the order of their UTF-8 bytes. */
function dictionaryOf(entries: readonly (readonly [string, Expected])[]): { value: AttributeDictionary; text: string } {
  const sorted = entries.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return {
    value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])),
    text: sorted.map(([key, expected]) => `${key}=${expected.text}`).join(' '),
  }
}

const { dictionary } = fc.letrec<{ dictionary: { value: AttributeDictionary; text: string } }>((tie) => ({
  dictionary: fc
    .uniqueArray(
      fc.tuple(
        name,
        fc.oneof(
          { weight: 4, arbitrary: leaf },
          { weight: 1, arbitrary: tie('dictionary').map(({ value, text: inner }) => ({ value, text: `{${inner}}` })) },
        ),
      ),
      { selector: ([key]) => key, maxLength: 6 },
    )
    .map(dictionaryOf),
}))

test(
  'a handler sees exactly the attributes that were given, sorted by the bytes of their names',
  { timeout: 30_000 + seconds * 2000 },
  () => {
    fc.assert(
      fc.property(dictionary, (expected) => {
        const seen = seenAttributes(expected.value)
        if (seen !== expected.text) throw new Error(`seen ${seen}, expected ${expected.text}`)
      }),
      budget,
    )
  },
)

test(
  'a TypeScript function gets exactly the attributes that were given: passed on, a handler sees the same',
  { timeout: 30_000 + seconds * 2000 },
  () => {
    let given: ReadAttributes = {}
    const registry = new TargetRegistry()
    const handler = registry.registerFunction('any', '() -> (); all: dictionary', (_, __, { all }) => {
      given = all
    })
    fc.assert(
      fc.property(dictionary, (expected) => {
        using call = handler.prepare({ attrs: { all: expected.value } })
        call.run([], [])
        const seen = seenAttributes(given)
        if (seen !== expected.text) throw new Error(`seen ${seen}, expected ${expected.text}`)
      }),
      budget,
    )
    registry.unregister('any')
  },
)
