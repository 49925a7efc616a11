import { expect, test } from 'vitest'

import { isErrorText } from '../src/mutation/left-code.ts'
import { mutationReport } from '../src/mutation/report.ts'
import {
  countByFolder,
  type EquivalentMutant,
  killedShare,
  markEquivalent,
  readResults,
  type StrykerReport,
} from '../src/mutation/results.ts'

const SOURCE = 'export function fits(size: number) {\n  return size <= 8\n}\n'

/** A mutant of the comparison in the second line of {@link SOURCE}. */
function mutantOf(
  replacement: string,
  status: string,
  statusReason?: string,
): StrykerReport['files'][string]['mutants'][number] {
  const location = { start: { line: 2, column: 10 }, end: { line: 2, column: 19 } }
  return {
    mutatorName: 'EqualityOperator',
    replacement,
    status,
    ...(statusReason !== undefined && { statusReason }),
    location,
  }
}

const reportOf = (...mutants: ReturnType<typeof mutantOf>[]): StrykerReport => ({
  files: { 'src/sizes/fits.ts': { source: SOURCE, mutants } },
})

const entry: EquivalentMutant = {
  file: 'packages/a/src/sizes/fits.ts',
  text: 'return size <= 8',
  code: 'size <= 8',
  mutant: 'size < 8',
  reason: 'a size is odd',
}

test('results name the line, the code and what replaces it', () => {
  expect(readResults(reportOf(mutantOf('size < 8', 'Survived')), 'packages/a')).toEqual([
    {
      file: 'packages/a/src/sizes/fits.ts',
      line: 2,
      text: 'return size <= 8',
      mutator: 'EqualityOperator',
      code: 'size <= 8',
      mutant: 'size < 8',
      outcome: 'survived',
    },
  ])
})

test('mutants of code that runs while modules load are counted, and those that a rule leaves out are not', () => {
  const report = reportOf(
    mutantOf('a', 'Ignored', 'Static mutant (and "ignoreStatic" was enabled)'),
    mutantOf('b', 'Ignored', 'the text of an error'),
  )
  expect(readResults(report, 'packages/a').map(({ mutant, outcome }) => [mutant, outcome])).toEqual([['a', 'at load']])
})

test('an equivalent mutant does not count as one that survived', () => {
  const found = markEquivalent(readResults(reportOf(mutantOf('size < 8', 'Survived')), 'packages/a'), [entry])
  expect(found.results[0]!.outcome).toBe('equivalent')
  expect(found.faults).toEqual([])
})

test('an entry of the equivalent mutants is wrong if it matches no mutant, or a test kills the mutant', () => {
  const other = markEquivalent(readResults(reportOf(mutantOf('size > 8', 'Survived')), 'packages/a'), [entry])
  expect(other.faults).toEqual([
    'packages/a/src/sizes/fits.ts: no mutant replaces size <= 8 with size < 8 in return size <= 8',
  ])
  expect(other.results[0]!.outcome).toBe('survived')
  for (const status of ['Killed', 'Timeout']) {
    const killed = markEquivalent(readResults(reportOf(mutantOf('size < 8', status)), 'packages/a'), [entry])
    expect(killed.faults).toEqual([
      'packages/a/src/sizes/fits.ts: a test tells size < 8 from size <= 8 in return size <= 8',
    ])
  }
})

test('an entry without code is for all mutants of a line that survive', () => {
  const results = readResults(reportOf(mutantOf('a', 'Survived'), mutantOf('b', 'Killed')), 'packages/a')
  const { file, text, reason } = entry
  const found = markEquivalent(results, [{ file, text, reason }])
  expect(found.results.map(({ outcome }) => outcome)).toEqual(['equivalent', 'killed'])
  expect(found.faults).toEqual([])
  expect(markEquivalent(results.slice(1), [{ file, text, reason }]).faults).toHaveLength(1)
})

test('entries of files that were not measured are not judged', () => {
  const results = readResults(reportOf(mutantOf('size < 8', 'Killed')), 'packages/b')
  expect(markEquivalent(results, [entry]).faults).toEqual([])
})

test('folders count what the time did not suffice for, and the share leaves it out', () => {
  const results = readResults(
    reportOf(mutantOf('a', 'Killed'), mutantOf('b', 'Timeout'), mutantOf('c', 'Survived'), mutantOf('d', 'NoCoverage')),
    'packages/a',
  )
  const folders = countByFolder(results, { 'packages/a/src/sizes/fits.ts': 6, 'packages/a/src/index.ts': 3 })
  expect([...folders.keys()]).toEqual(['packages/a/src', 'packages/a/src/sizes'])
  expect(folders.get('packages/a/src')!['not measured']).toBe(3)
  const counts = folders.get('packages/a/src/sizes')!
  expect(counts).toMatchObject({ killed: 1, timeout: 1, survived: 1, 'no coverage': 1, 'not measured': 2 })
  expect(killedShare(counts)).toBe(50)
  expect(killedShare(folders.get('packages/a/src')!)).toBeUndefined()
})

test('the report has a row for each folder and one for all', () => {
  const results = readResults(reportOf(mutantOf('a', 'Killed'), mutantOf('b', 'Survived')), 'packages/a')
  const report = mutationReport([
    {
      package: '@tenon/a',
      commit: 'abcdef0',
      date: '2026-12-01T10:00:00.000Z',
      folders: Object.fromEntries(countByFolder(results, { 'packages/a/src/sizes/fits.ts': 5 })),
      survived: results.filter(({ outcome }) => outcome === 'survived'),
      leftOut: [],
    },
  ])
  const rows = report.split('\n').filter((line) => line.startsWith('|'))
  expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toContain(
    '| packages/a/src/sizes | 50 % | 1 | 0 | 1 | 0 | 0 | 0 | 3 |',
  )
  expect(report).toContain('- Commit: abcdef0\n')
})

test('the arguments of errors are no code that is changed, and those of other calls are', () => {
  const path = (type: string, name: string, listKey = 'arguments') => ({
    listKey,
    parent: { type, callee: { type: 'Identifier', name } },
  })
  expect(isErrorText(path('NewExpression', 'ArgumentError'))).toBe(true)
  expect(isErrorText(path('CallExpression', 'wrongValue'))).toBe(true)
  expect(isErrorText(path('CallExpression', 'checkSize'))).toBe(false)
  expect(isErrorText(path('NewExpression', 'ArgumentError', 'body'))).toBe(false)
})
