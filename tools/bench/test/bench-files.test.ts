import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { findBenchFiles, isPlotFile } from '../src/bench-files.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-bench-'))
  for (const file of [
    'core/bench/b.bench.ts',
    'core/bench/a.bench.ts',
    'core/bench/helper.ts',
    'scope/bench/c.bench.ts',
    'none/x.ts',
  ]) {
    const path = join(directory, 'packages', file)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, '')
  }
})

afterAll(() => rmSync(directory, { recursive: true }))

function find(...packages: string[]): string[] {
  return findBenchFiles(packages, directory).map((file) => relative(directory, file).split(sep).slice(1).join('/'))
}

test('findBenchFiles() returns all bench files, sorted', () => {
  expect(find()).toEqual(['core/bench/a.bench.ts', 'core/bench/b.bench.ts', 'scope/bench/c.bench.ts'])
})

test('findBenchFiles() accepts packages by directory or by name', () => {
  expect(find('scope')).toEqual(['scope/bench/c.bench.ts'])
  expect(find('@tenon/scope', 'core')).toEqual(find())
})

test('findBenchFiles() refuses a package without bench files, and lists the others', () => {
  expect(() => find('none')).toThrow('none has no bench file. The packages with bench files are core, scope.')
})

test('isPlotFile() knows the files of plots by their names', () => {
  expect(['bench/x.plot.bench.ts', 'bench/x.bench.ts', 'bench/plot.ts'].map(isPlotFile)).toEqual([true, false, false])
})
