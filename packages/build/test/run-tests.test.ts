import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { loadPackage } from '../src/load-package.ts'
import { buildTests, readTestOutput, runTestPrograms } from '../src/run-tests.ts'
import { makePackage, runBin } from './fixture.ts'

const end = { code: 0, signal: null, stderr: '' }

describe('readTestOutput', () => {
  test('reads passed and failed tests', () => {
    const stdout = '1..2\n# a\nok - a\n# b\nnot ok - b: x.c:3: 1 == 2\n'
    expect(readTestOutput('p', { ...end, code: 1, stdout })).toEqual([
      { name: 'p > a', ok: true },
      { name: 'p > b', ok: false, message: 'x.c:3: 1 == 2' },
    ])
  })

  test('reads the line ends of Windows', () => {
    const stdout = '1..2\r\n# a\r\nok - a\r\n# b\r\nnot ok - b: x.c:3: 1 == 2\r\n'
    expect(readTestOutput('p', { ...end, code: 1, stdout })).toEqual([
      { name: 'p > a', ok: true },
      { name: 'p > b', ok: false, message: 'x.c:3: 1 == 2' },
    ])
  })

  test('counts a crash as a failure of the running test, with the signal', () => {
    const result = { ...end, code: null, signal: 'SIGSEGV' as const, stdout: '1..2\n# a\nok - a\n# b\n' }
    expect(readTestOutput('p', result)[1]).toEqual({
      name: 'p > b',
      ok: false,
      message: 'ended by SIGSEGV (signal 11) after 1 of 2 tests',
    })
  })

  test('counts a program that ends early, without a plan, or in contradiction to its output as a failure', () => {
    const failures = (stdout: string, code = 0): unknown[] =>
      readTestOutput('p', { ...end, code, stdout })
        .filter((result) => !result.ok)
        .map((result) => result.message)
    expect(failures('1..2\n# a\nok - a\n')).toEqual(['ended by exit code 0 after 1 of 2 tests'])
    expect(failures('# a\nok - a\n')).toEqual(['ended by exit code 0 without a plan'])
    expect(failures('1..1\n# a\nok - a\n', 3)).toEqual(['ended by exit code 3 after 1 of 1 tests'])
    expect(failures('1..0\n')).toEqual(['the program has no tests'])
  })
})

test('runTestPrograms() runs each program with the command and the variables of its runner', async () => {
  const main = `#include <stdio.h>
#include <stdlib.h>
int main(void) { return printf("1..1\\n# a\\n%s\\n", getenv("OUTCOME")) < 0; }
`
  const fixture = makePackage({ targets: [{ name: 'tests', kind: 'test', sources: ['a.c'] }] }, { 'a.c': main })
  const pkg = await loadPackage(fixture.directory)
  const programs = await buildTests(pkg, { variant: 'debug' })
  const runner = { command: ['env', 'OUTCOME=ok - a'] }
  expect(await runTestPrograms(pkg, programs, runner)).toMatchObject({ passed: 1, failed: 0 })
  const failing = { command: [], env: { OUTCOME: 'not ok - a: x' } }
  expect(await runTestPrograms(pkg, programs, failing)).toMatchObject({ passed: 0, tests: [{ name: 'tests > a' }, {}] })
})

test('tenon-test writes the report and fails with a program that crashes', () => {
  const crash =
    '#include <stdio.h>\n#include <signal.h>\nint main(void) { printf("1..1\\n# dies\\n"); fflush(stdout); return raise(SIGABRT); }\n'
  const good = '#include <stdio.h>\nint main(void) { printf("1..1\\n# lives\\nok - lives\\n"); return 0; }\n'
  const fixture = makePackage(
    {
      targets: [
        { name: 'good', kind: 'test', sources: ['good.c'] },
        { name: 'crash', kind: 'test', sources: ['crash.c'] },
      ],
    },
    { 'good.c': good, 'crash.c': crash },
  )
  const { code, stdout } = runBin('test', fixture)
  expect(code).toBe(1)
  expect(stdout).toContain('not ok - crash > dies: ended by SIGABRT (signal 6) after 0 of 1 tests')
  expect(JSON.parse(readFileSync(join(fixture.directory, 'reports/native.json'), 'utf8'))).toEqual({
    passed: 1,
    failed: 1,
    tests: [
      { name: 'good > lives', ok: true },
      { name: 'crash > dies', ok: false, message: 'ended by SIGABRT (signal 6) after 0 of 1 tests' },
    ],
  })
})

test('tenon-test fails without test programs', () => {
  expect(runBin('test', makePackage({ targets: [] }, {})).stderr).toBe(
    'fixture has no test target in native.targets.ts\n',
  )
})
