import { expect, test } from 'vitest'
import { isForPerf } from '../src/tracing/stub-names.ts'

test.each(['--perf-basic-prof', '--perf-basic-prof-only-functions', '--perf-prof', '--perf-prof=true'])(
  'stubs have names in a process with %s',
  (flag) => {
    expect(isForPerf(['--no-warnings', flag])).toBe(true)
    expect(isForPerf([], `--no-warnings ${flag} --stack-size=900`)).toBe(true)
  },
)

test('stubs have no names otherwise', () => {
  expect(isForPerf(['--cpu-prof', '--prof', '--perf-prof-delete-file', '--title=x--perf-prof'])).toBe(false)
  expect(isForPerf([])).toBe(false)
})
