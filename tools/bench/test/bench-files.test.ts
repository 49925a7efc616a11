import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { findBenchFiles, findProbeFiles } from '../src/bench-files.ts'

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

test('all bench files in order, and nothing else', () => {
  expect(find()).toEqual(['core/bench/a.bench.ts', 'core/bench/b.bench.ts', 'scope/bench/c.bench.ts'])
})

test('those of a package, by directory or by name', () => {
  expect(find('scope')).toEqual(['scope/bench/c.bench.ts'])
  expect(find('@tenon/scope', 'core')).toEqual(find())
})

test('a package without bench files is named, and those that have some', () => {
  expect(() => find('none')).toThrow('none has no bench file: packages that have are core, scope')
})

test('the probe has files', () => {
  expect(findProbeFiles().map((file) => file.split(sep).at(-1))).toEqual(['calls.bench.ts', 'memory.bench.ts'])
})
