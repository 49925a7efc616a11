import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LAST_RULES, notApplicable } from './rules.ts'

const core = join(import.meta.dirname, '../../core/csrc/test')

/** Finds the rules in the names of tests, in TypeScript (`test('L8, L9: ...`) and in C (`TEST(L2_L5_...)`). */
function tested(): Set<string> {
  const read = (pattern: string, cwd: string): string =>
    globSync(pattern, { cwd })
      .map((file) => readFileSync(join(cwd, file), 'utf8'))
      .join('\n')
  const titles = [
    ...read('*.test.ts', import.meta.dirname).matchAll(/(?:test|describe)\S*\(\s*['`]((?:[LR]\d+(?:, )?)+): /g),
    ...read('*.test.ts', import.meta.dirname).matchAll(/^\s*\]?\)?\(\s*['`]((?:[LR]\d+(?:, )?)+): /gm),
    ...read('xla/*_test.c', core).matchAll(/TEST\(((?:[LR]\d+_)+)/g),
  ]
  return new Set(titles.flatMap(([, title]) => title!.match(/[LR]\d+/g)!))
}

test('every rule has a test that names it, or a reason why it has none', () => {
  const names = tested()
  const all = Object.entries(LAST_RULES).flatMap(([letter, last]) =>
    Array.from({ length: last }, (_, i) => `${letter}${i + 1}`),
  )
  expect(all.filter((rule) => !names.has(rule) && !(rule in notApplicable))).toEqual([])
  expect(all.filter((rule) => names.has(rule) && rule in notApplicable)).toEqual([])
  expect([...names, ...Object.keys(notApplicable)].filter((rule) => !all.includes(rule))).toEqual([])
})

test('the README lists the rules without a test', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  expect(Object.keys(notApplicable).filter((rule) => !readme.includes(rule))).toEqual([])
})
