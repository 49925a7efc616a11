import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkReports, findStaleReports } from '../src/lib/published-reports.ts'
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

describe('reports of a release', () => {
  let reports: string
  beforeEach(() => {
    reports = join(folder, 'docs/reports')
    mkdirSync(reports, { recursive: true })
    mkdirSync(join(folder, 'src'))
    git('init', '--quiet')
    commit('src/code.ts', 'let x = 1')
  })

  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@x.org', ...args], {
      cwd: folder,
      encoding: 'utf8',
    }).trim()

  const commit = (file: string, text: string): string => {
    writeFileSync(join(folder, file), text)
    git('add', '.')
    git('commit', '--quiet', '--message', 'a change')
    return git('rev-parse', '--short=9', 'HEAD')
  }

  test('are accepted if only pages, reports and versions have changed since', () => {
    const released = git('rev-parse', '--short=9', 'HEAD')
    commit('docs/reports/soak.md', `# pnpm soak\n\n- Commit: ${released}\n`)
    commit('package.json', '{ "version": "1.0.0" }')
    commit('CHANGELOG.md', '1.0.0')
    expect(findStaleReports(reports)).toEqual([])
  })

  test('are refused if they are of other code, of an unknown commit, or of none', () => {
    const old = git('rev-parse', '--short=9', 'HEAD')
    commit('src/code.ts', 'let x = 2')
    writeFileSync(join(reports, 'bench.md'), `- Commit: ${old}\n`)
    writeFileSync(join(reports, 'changed.md'), `- Commit: ${old}+\n`)
    writeFileSync(join(reports, 'fuzz.md'), '# pnpm fuzz\n')
    writeFileSync(join(reports, 'soak.md'), '- Commit: 0123456789\n')
    writeFileSync(join(reports, 'soak.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
    expect(findStaleReports(reports)).toEqual([
      `bench.md: is of the commit ${old}, and src/code.ts has changed since`,
      `changed.md: is of a checkout that differed from the commit ${old}`,
      'fuzz.md: names no commit',
      'soak.md: is of the commit 0123456789, which is not in this checkout',
    ])
  })
})
