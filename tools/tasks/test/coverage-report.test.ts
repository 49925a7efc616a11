import { expect, test } from 'vitest'

import { cell, coverageTables } from '../src/lib/coverage-report.ts'
import type { LineCounts } from '../src/lib/line-counts.ts'

const packages = [
  { name: '@tenon/a', directory: '/r/packages/a' },
  { name: '@tenon/b', directory: '/r/packages/b' },
  { name: '@tenon/empty', directory: '/r/packages/empty' },
]

/** The lines of the tables, without the spaces that align them. */
function tables(counts: LineCounts): string[] {
  return coverageTables(packages, counts, '/r').map((line) => line.replace(/ +\|/g, ' |'))
}

/** A file with some lines that ran and some that did not. */
function file(path: string, ran: number, missed: number): [string, Map<number, number>] {
  return [path, new Map(Array.from({ length: ran + missed }, (_, line) => [line + 1, line < ran ? 7 : 0]))]
}

test('the report has a row for each package with code, and a row for all', () => {
  const counts = new Map([
    file('/r/packages/a/src/one.ts', 9, 1),
    file('/r/packages/a/csrc/two.c', 1, 2),
    file('/r/packages/a/csrc/three.h', 1, 0),
    file('/r/packages/b/src/four.ts', 10, 0),
  ])
  const text = tables(counts).join('\n')
  expect(text).toContain('| @tenon/a | 3 | 9 / 10 (90 %) | 2 / 4 (50 %) |\n')
  expect(text).toContain('| @tenon/b | 1 | 10 / 10 (100 %) | – |\n')
  expect(text).toContain('| all | 4 | 19 / 20 (95 %) | 2 / 4 (50 %) |\n')
  expect(text).not.toContain('@tenon/empty')
})

test('the report leaves out tests, fixtures, generated files, declarations and files outside of the packages', () => {
  const paths = ['csrc/test/a_test.c', 'csrc/fixture/b.c', 'test/c.ts', 'src/generated/d.ts', 'src/e.d.ts', 'src/f.js']
  const counts = new Map([
    ...paths.map((path) => file(`/r/packages/a/${path}`, 1, 1)),
    file('/r/tools/g.ts', 1, 1),
    file('/r/packages/a/src/kept.ts', 1, 0),
  ])
  expect(tables(counts).join('\n')).toContain('| all | 1 | 1 / 1 (100 %) | – |')
})

test('the report lists the ten files with the most lines that did not run, and no file that ran completely', () => {
  const some = Array.from({ length: 12 }, (_, index) => file(`/r/packages/a/src/f${index}.ts`, 5, index))
  const rows = tables(new Map(some)).filter((line) => line.startsWith('| packages/'))
  expect(rows).toHaveLength(10)
  expect(rows[0]).toBe('| packages/a/src/f11.ts | 11 | 5 / 16 (31 %) |')
  expect(rows[9]).toBe('| packages/a/src/f2.ts | 2 | 5 / 7 (71 %) |')
  expect(tables(new Map([file('/r/packages/b/src/x.ts', 3, 0)])).join()).not.toContain('src/x')
})

test('a cell says 100 % only if every line ran', () => {
  expect(cell({ covered: 1999, all: 2000 })).toBe('1999 / 2000 (99 %)')
  expect(cell({ covered: 2000, all: 2000 })).toBe('2000 / 2000 (100 %)')
  expect(cell({ covered: 0, all: 0 })).toBe('–')
})

test('the columns of the tables are aligned', () => {
  const lines = coverageTables(packages, new Map([file('/r/packages/a/src/one.ts', 9, 1)]), '/r')
  expect(lines.slice(2, 6)).toEqual([
    '| package  | files | TypeScript    | C   |',
    '| -------- | ----- | ------------- | --- |',
    '| @tenon/a | 1     | 9 / 10 (90 %) | –   |',
    '| all      | 1     | 9 / 10 (90 %) | –   |',
  ])
})
