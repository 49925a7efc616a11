import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LAST_RULE, notApplicable } from './rules.ts'

test('every rule has a test that names it, or a reason not to apply', () => {
  const tests = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'))
    .join('\n')
  const tested = new Set([...tests.matchAll(/(?:test|describe)\((?:'|`)(S\d+): /g)].map((match) => match[1]!))
  const all = Array.from({ length: LAST_RULE }, (_, i) => `S${i + 1}`)
  expect(all.filter((rule) => !tested.has(rule) && !(rule in notApplicable))).toEqual([])
  expect(all.filter((rule) => tested.has(rule) && rule in notApplicable)).toEqual([])
  expect([...tested, ...Object.keys(notApplicable)].filter((rule) => !all.includes(rule))).toEqual([])
})
