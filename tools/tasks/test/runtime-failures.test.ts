import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { failureGroups } from '../src/lib/runtime-failure-groups.ts'
import { knownIn } from '../src/lib/runtime-failures.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/runtimes.md'), 'utf8')

test('the page about runtimes has a row for each reason why tests fail, with the runtimes and the number of tests', () => {
  const names = { bun: 'Bun', deno: 'Deno' }
  const rows = failureGroups.map(({ runtimes, reason, tests }) => {
    const count = Object.values(tests).flat().length
    return `| ${runtimes.map((runtime) => names[runtime]).join(', ')} | ${reason} | ${count} |`
  })
  const found = page.replaceAll(/ +/g, ' ').split('\n')
  for (const row of rows) expect(found).toContain(row)
  expect(new Set(rows).size).toBe(rows.length)
})

test('no test is in two groups', () => {
  for (const runtime of ['bun', 'deno'] as const) {
    for (const name of ['core', 'scope', 'tstring', 'custom-call', 'packed-func', 'isolate', 'tenon']) {
      const titles = knownIn(runtime, name).map(({ title }) => title)
      expect(titles.filter((title) => titles.some((other) => other !== title && title.startsWith(other)))).toEqual([])
      expect(new Set(titles).size).toBe(titles.length)
    }
  }
})
