import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const rules = [...readFileSync(`${root}/TYPES.md`, 'utf8').matchAll(/^(\d+)\. (.+)$/gm)]
const tests = globSync('test/types/*.test.ts', { cwd: root }).map((file) => readFileSync(`${root}/${file}`, 'utf8'))
const named = new Set(tests.flatMap((text) => [...text.matchAll(/\brule (\d+):/g)].map(([, rule]) => Number(rule))))

it('the rules of types are numbered 1 to 26', () => {
  expect(rules.map(([, rule]) => Number(rule))).toEqual(Array.from({ length: 26 }, (_, i) => i + 1))
})

it.each(rules.map(([, rule, text]) => [Number(rule), text!] as const))('type rule %i has a test: %s', (rule) => {
  expect(named).toContain(rule)
})
