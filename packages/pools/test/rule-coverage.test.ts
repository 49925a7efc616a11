import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Rules without a test of their own, and why. */
const reasons: Readonly<Record<string, string>> = {
  P12: 'descriptions of hardware buffers are not built: only blobs are, emulated, and their size is all there is to say',
  P16: 'pools are registered one by one; a bad one fails whatever names it, and the test of each kind of lie says so',
  P19: 'which cause has which status: each test of a cause asserts its status',
  M13: 'setting values after finish: the builder ends with its callback, and a value is given with its operand',
  Q9: 'a size of 0 can not be said: it means unknown (Q5, Q6)',
  Q11: 'tokens are not public: unknown and foreign ones are refused alike (D31)',
  Q13: 'inputs are not written: kernels get no way to, and frozen and read-only pools are mapped without one',
  Q16: 'fenced execution is not built',
  Q17: 'callbacks exactly once: a promise settles once',
  Q19: 'bursts are not built: pools are registered once for a connection, and releasing an unknown one is harmless (tested among the protocol)',
  D14: 'falling back to ordinary memory is left to the caller, who has the pools for it',
  D21: 'places of device buffers: they are arguments without a place; the validator refuses one (Q4)',
  D22: 'kinds of copies: every kind of pool can be copied from and to; one that can not be mapped is refused (P15, P17)',
  D28: 'writers beside readers: a driver executes the requests of all its clients one after another',
  D32: 'illegal use fails before anything is read: each refusal leaves the outputs untouched (Q14)',
}

const families: readonly (readonly [letter: string, count: number])[] = [
  ['P', 19],
  ['M', 21],
  ['Q', 20],
  ['D', 32],
]

test('every rule has a test that names it, or a reason why not', () => {
  const texts = globSync('*.test.ts', { cwd: import.meta.dirname })
    .filter((file) => file !== 'rule-coverage.test.ts')
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
  const named = new Set(texts.flatMap((text) => [...text.matchAll(/\b([PMQD]\d{1,2})\b/g)].map((match) => match[1]!)))
  // A range such as D1 to D6 names what lies between.
  for (const text of texts) {
    for (const [, letter, from, to] of text.matchAll(/\b([PMQD])(\d+) to \1(\d+)\b/g)) {
      for (let n = Number(from); n <= Number(to); n++) named.add(`${letter}${n}`)
    }
  }
  const rules = families.flatMap(([letter, count]) => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`))
  expect(rules.filter((rule) => !named.has(rule) && reasons[rule] === undefined)).toEqual([])
  expect(Object.keys(reasons).filter((rule) => !rules.includes(rule) || named.has(rule))).toEqual([])
})
