import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import {
  addCounts,
  addToKnownLines,
  type LineCounts,
  parseCounts,
  printCounts,
  readGcov,
  readIstanbul,
} from '../src/lib/line-counts.ts'

function counts(files: Record<string, Record<number, number>>): LineCounts {
  return new Map(
    Object.entries(files).map(([path, lines]) => [
      path,
      new Map(Object.entries(lines).map(([line, count]) => [Number(line), count])),
    ]),
  )
}

test('addCounts() adds files, lines and counts', () => {
  const sum = counts({ '/a': { 1: 1, 2: 0 } })
  addCounts(sum, counts({ '/a': { 2: 3, 5: 0 }, '/b': { 1: 0 } }))
  expect(sum).toEqual(counts({ '/a': { 1: 1, 2: 3, 5: 0 }, '/b': { 1: 0 } }))
})

test('addToKnownLines() adds neither files nor lines', () => {
  const sum = counts({ '/a': { 1: 1, 2: 0 } })
  addToKnownLines(sum, counts({ '/a': { 2: 3, 5: 7 }, '/b': { 1: 1 } }))
  expect(sum).toEqual(counts({ '/a': { 1: 1, 2: 3 } }))
})

test('parseCounts() reads what printCounts() writes', () => {
  const some = counts({ '/a': { 1: 1, 20: 0 }, '/b': {} })
  expect(parseCounts(printCounts(some))).toEqual(some)
})

test('readIstanbul() counts the most frequent statement of each line on which statements begin', () => {
  const at = (line: number): { start: { line: number } } => ({ start: { line } })
  const report = {
    '/a.ts': { path: '/a.ts', statementMap: { 0: at(1), 1: at(3), 2: at(3), 3: at(4) }, s: { 0: 2, 1: 0, 2: 5, 3: 0 } },
  }
  expect(readIstanbul(report)).toEqual(counts({ '/a.ts': { 1: 2, 3: 5, 4: 0 } }))
})

test('readGcov() adds up files of several objects, and leaves headers of the system out', () => {
  const report = (files: unknown[]): string => JSON.stringify({ gcc_version: '12', files })
  const line = (number: number, count: number): unknown => ({ line_number: number, count, branches: [] })
  const output = [
    report([
      { file: 'csrc/a.c', lines: [line(1, 2), line(2, 0)] },
      { file: 'csrc/a.h', lines: [line(9, 0)] },
      { file: '/usr/include/stdio.h', lines: [line(1, 1)] },
    ]),
    report([{ file: 'csrc/a.h', lines: [line(9, 4), line(9, 1)] }]),
    '',
  ].join('\n')
  expect(readGcov(output, '/p')).toEqual(counts({ '/p/csrc/a.c': { 1: 2, 2: 0 }, '/p/csrc/a.h': { 9: 5 } }))
})

test.runIf(process.platform === 'linux')('readGcov() reads what gcov of this machine prints', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gcov-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const source = ['int main(int count, char **words) {', '  if (count > 1)', '    return 3;', '  return 0;', '}', '']
  writeFileSync(join(directory, 'a.c'), source.join('\n'))
  const run = (file: string, ...args: string[]): string =>
    execFileSync(file, args, { cwd: directory, encoding: 'utf8' })
  run('gcc', '--coverage', '-O0', '-c', 'a.c', '-o', 'a.o')
  const neverRan = readGcov(run('gcov', '--json-format', '--stdout', 'a.gcno'), directory)
  expect([...neverRan.get(join(directory, 'a.c'))!.values()].every((count) => count === 0)).toBe(true)

  run('gcc', '--coverage', 'a.o', '-o', 'a')
  run('./a')
  run('./a')
  const lines = readGcov(run('gcov', '--json-format', '--stdout', 'a.gcno'), directory).get(join(directory, 'a.c'))!
  expect(lines.get(2)).toBe(2)
  expect(lines.get(3)).toBe(0)
  expect(lines.get(4)).toBe(2)
})
