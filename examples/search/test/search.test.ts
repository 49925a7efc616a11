import { isSanitized } from '@tenon/config/sanitizer'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Library } from 'tenon'
import { expect, test } from 'vitest'
import { nativeLibrary } from '../src/native.ts'
import { SearchIndex } from '../src/search-index.ts'

const BUCKETS = 4096
/** The arguments of Node.js that run the program. */
const program = ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('../src/main.ts', import.meta.url))]

/** The same scores in double precision, without the kernels. */
function referenceScores(texts: readonly string[], query: string): number[] {
  const [rows, asked] = [texts.map(countSequences), countSequences(query)]
  const weights = asked.map((_, bucket) => {
    const having = rows.filter((row) => row[bucket]! > 0).length
    return Math.fround(Math.log((texts.length + 1) / (having + 1)))
  })
  const weighted = (row: readonly number[]): number[] => row.map((count, bucket) => count * weights[bucket]!)
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, i) => sum + value * b[i]!, 0)
  const q = weighted(asked)
  return rows.map((row) => {
    const x = weighted(row)
    const product = dot(x, q)
    return product === 0 ? 0 : product / Math.sqrt(dot(x, x) * dot(q, q))
  })
}

function countSequences(text: string): number[] {
  const counts = Array.from({ length: BUCKETS }, () => 0)
  for (const word of Buffer.from(text)
    .toString('latin1')
    .split(/[^A-Za-z0-9\x80-\xff]+/)) {
    const letters =
      word === '' ? [] : [...Buffer.from(` ${word.replaceAll(/[A-Z]+/g, (upper) => upper.toLowerCase())} `, 'latin1')]
    for (let i = 0; i + 2 < letters.length; i++) {
      const sequence = letters[i]! * 65536 + letters[i + 1]! * 256 + letters[i + 2]!
      counts[(Math.imul(sequence, 2654435761) >>> 0) % BUCKETS]! += 1
    }
  }
  return counts.map((count) => Math.log1p(count))
}

test('the worker computes the same scores as TypeScript, from operands that are not copied', async () => {
  const texts = [
    'The quick brown fox jumps over the lazy dog',
    'Grüße aus Köln, naïve façade',
    '',
    'a fox and a dog',
    'x'.repeat(500),
    '!!!',
  ]
  const library = await Library.isolate(nativeLibrary('score'))
  const score = library.kernel('score_rows')
  const index = new SearchIndex(texts, library.memory)
  for (const query of ['quick fox', 'KÖLN', 'nothing of the kind', '']) {
    const expected = referenceScores(texts, query)
    for (const { index: at, score: found } of index.search(score, query, texts.length)) {
      expect(Math.abs(found - expected[at]!), `${query} in text ${at}`).toBeLessThan(1e-6)
    }
  }
  expect(index.search(score, 'quick fox', 1)[0]!.index).toBe(0)
  expect(library.metrics().copiedBytes).toBe(0)
  await library.closeAsync()
})

test('the program finds the expected pages, and survives a kernel that crashes', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const [freed, strings, crashes] = stdout.split('\n"').slice(1)
  expect(freed).toMatch(/scope|architecture/)
  expect(strings).toMatch(/tstring|invalid-text/)
  expect(crashes).toMatch(/nnapi|pools|sharing-memory|isolation/)
  // The sanitizer finds the null pointer before the processor does.
  expect(stdout).toMatch(isSanitized ? /write_nowhere crashed: SIGABRT/ : /write_nowhere crashed: SIGSEGV writing /)
  expect(stdout).toMatch(/\nThe next search works: /)
})
