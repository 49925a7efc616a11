import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

type Side = 'in process' | 'across processes'

/** Where the tests of a file run: in every home of a driver; or with a driver, a client or a descriptor of one side alone. */
const sides: Readonly<Record<string, readonly Side[]>> = {
  'allocate-memory.test.ts': ['in process', 'across processes'],
  'allocate-rules.test.ts': ['in process'],
  'burst.test.ts': ['in process', 'across processes'],
  'defences.test.ts': ['across processes'],
  'device-buffer.test.ts': ['in process', 'across processes'],
  'driver.test.ts': ['in process', 'across processes'],
  'fenced.test.ts': ['in process', 'across processes'],
  'hidl.test.ts': ['in process'],
  'hostile-client.test.ts': ['across processes'],
  'hostile-driver.test.ts': ['across processes'],
  'hostile-protocol.test.ts': ['across processes'],
  'image-pool.test.ts': ['in process'],
  // Tables: validators read them in process, rules.test.ts gives them to drivers in every home.
  'model-rules.test.ts': ['in process'],
  'model-cases.ts': ['in process', 'across processes'],
  'pool.test.ts': ['in process'],
  'request-cases.ts': ['in process', 'across processes'],
  'request-rules.test.ts': ['in process'],
  'rules-memory.test.ts': ['in process', 'across processes'],
  'rules.test.ts': ['in process', 'across processes'],
}

/** Rules without a test of their own on one side, and why. */
const reasons: Readonly<Record<string, Partial<Record<Side, string>>>> = {
  P3: {
    'across processes': 'handles with ints are HIDL: a message has one descriptor, and the core counts them (P2, P8)',
  },
  P4: { 'across processes': 'handles with ints are HIDL: a message says in words what a file is' },
  P6: { 'across processes': 'protections are HIDL: a message says whether a file is to be written (P17)' },
  P10: { 'across processes': 'widths of blobs are HIDL: a message has a size, compared with the descriptor (P15)' },
  M13: { 'across processes': 'models are built in the client, whatever the driver' },
  D13: { 'in process': 'a driver in the same process is this code: what it answers is not distrusted' },
  Q11: { 'in process': 'tokens are not public in process: buffers are objects, and foreign ones are refused (D31)' },
}

const families: readonly (readonly [letter: string, count: number])[] = [
  ['P', 19],
  ['M', 21],
  ['Q', 20],
  ['D', 32],
]
const rules = families.flatMap(([letter, count]) => Array.from({ length: count }, (_, i) => `${letter}${i + 1}`))

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, file), 'utf8')

/** The titles of a file's tests and groups, and the first words of its tables' rows. */
function titlesOf(text: string): string[] {
  const titles = [...text.matchAll(/\b(?:test|describe)(?:\.each\([^)]*\))?\(\s*(['"`])(.*?)\1/gs)].map(
    (match) => match[2]!,
  )
  const grouped = [...text.matchAll(/\]\s*(?:as const\s*)?\)\(\s*(['"`])(.*?)\1/gs)].map((match) => match[2]!)
  const rows = [...text.matchAll(/\[\s*'([PMQD]\d{1,2})(?:'\s*,|: )/g)].map((match) => match[1]!)
  return [...titles, ...grouped, ...rows]
}

/** The rules that a title names; a range such as D1 to D6 names what lies between. */
function rulesIn(title: string): string[] {
  const single = [...title.matchAll(/\b([PMQD]\d{1,2})\b/g)].map((match) => match[1]!)
  const ranges = [...title.matchAll(/\b([PMQD])(\d+) to \1(\d+)\b/g)].flatMap(([, letter, from, to]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => `${letter}${Number(from) + i}`),
  )
  return [...single, ...ranges]
}

const tested: Record<Side, Set<string>> = { 'in process': new Set(), 'across processes': new Set() }
for (const [file, where] of Object.entries(sides))
  for (const rule of titlesOf(textOf(file)).flatMap(rulesIn)) for (const side of where) tested[side].add(rule)

test.each(['in process', 'across processes'] as const)(
  'every rule has a test that names it, %s, or a reason',
  (side) => {
    expect(rules.filter((rule) => !tested[side].has(rule) && reasons[rule]?.[side] === undefined)).toEqual([])
  },
)

test('every exception of the coverage is still needed', () => {
  const stale = Object.entries(reasons).flatMap(([rule, given]) =>
    (Object.keys(given) as Side[])
      .filter((side) => !rules.includes(rule) || tested[side].has(rule))
      .map((side) => [rule, side]),
  )
  expect(stale).toEqual([])
})

test('every defence has a test with real processes that names it', () => {
  const files = globSync('*.test.ts', { cwd: import.meta.dirname }).filter((file) => file !== 'rule-coverage.test.ts')
  const titles = files.flatMap((file) => titlesOf(textOf(file)))
  const named = new Set(
    titles.flatMap((title) => {
      const [, first, joint, last] = /^defences? (\d+)(?: (to|and) (\d+))?/.exec(title) ?? []
      if (first === undefined) return []
      if (joint === 'to') return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
      return joint === undefined ? [Number(first)] : [Number(first), Number(last)]
    }),
  )
  expect(Array.from({ length: 22 }, (_, i) => i + 1).filter((number) => !named.has(number))).toEqual([])
})
