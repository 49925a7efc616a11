import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkReports } from '../src/lib/published-reports.ts'
import { root } from '../src/lib/root.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tenon-reports-'))))
afterEach(() => rmSync(folder, { recursive: true }))

test('reports of runs without failures are published', () => {
  writeFileSync(
    join(folder, 'soak.md'),
    '# pnpm soak\n\n- Result: **12 passed, 0 failed**\n\nSee https://x.org/home/a and docs/tmp/x.\n',
  )
  writeFileSync(join(folder, 'plot.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  expect(() => checkReports(folder)).not.toThrow()
})

test('the reports of the repository can be published', () => {
  expect(() => checkReports(join(root, 'docs/reports'))).not.toThrow()
})

test.each([
  ['- Result: **12 passed, 2 failed**', '2 tests failed'],
  [`at ${root}/packages/core`, `contains the path ${root}`],
  ["scandir '/home/ann/tenon'", 'contains the path /home/ann'],
  ["scandir '/tmp/tenon-cache-jHVxxc/new'", 'contains the path /tmp/tenon-cache-jHVxxc'],
  [String.raw`open C:\Users\ann\x`, String.raw`contains the path C:\Users`],
])('a report with %s is refused', (line, reason) => {
  writeFileSync(join(folder, 'coverage.md'), `# pnpm coverage\n\n${line}\n`)
  expect(() => checkReports(folder)).toThrow(`reports cannot be published:\ncoverage.md: ${reason}`)
})
