import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { kernelLibrary } from '@tenon/kernels'
import { tensor, type Element } from '@tenon/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { jsonValues } from '../src/cli/json-values.ts'
import { alignColumns, styleFor } from '../src/cli/terminal.ts'
import { formatTiming, timeRuns } from '../src/cli/timing.ts'
import { runTenon, tenonProgram } from './run-tenon.ts'

describe('styleFor', () => {
  afterEach(() => vi.unstubAllEnvs())
  const stream = (isTTY: boolean): NodeJS.WriteStream => ({ isTTY }) as NodeJS.WriteStream

  test.each([
    [true, undefined, 'xterm', '\u001B[1mtext\u001B[22m'],
    [true, '', 'xterm', '\u001B[1mtext\u001B[22m'],
    [true, '1', 'xterm', 'text'],
    [true, 'yes', 'xterm', 'text'],
    [true, undefined, 'dumb', 'text'],
    [false, undefined, 'xterm', 'text'],
  ])('follows isTTY %s, NO_COLOR %j and TERM %s', (isTTY, noColor, term, expected) => {
    vi.stubEnv('NO_COLOR', noColor)
    vi.stubEnv('TERM', term)
    expect(styleFor(stream(isTTY)).strong('text')).toBe(expected)
  })
})

test('alignColumns() makes columns as wide as their widest cell', () => {
  expect(
    alignColumns(
      [
        ['a', 'bb', ''],
        ['ccc', 'd', 'e'],
      ],
      '  ',
    ),
  ).toEqual(['  a    bb', '  ccc  d   e'])
  expect(alignColumns([])).toEqual([])
})

describe('timeRuns', () => {
  test.each([1, 2, 99, 100, 101, 250, 1000])('runs exactly %i times', (runs) => {
    let count = 0
    const timing = timeRuns(() => {
      count += 1
    }, runs)
    expect(count).toBe(runs)
    expect(timing.runs).toBe(runs)
    expect(timing.p10Ns).toBeLessThanOrEqual(timing.medianNs)
    expect(timing.medianNs).toBeLessThanOrEqual(timing.p90Ns)
  })

  test('formatTiming() chooses a unit for each duration', () => {
    expect(formatTiming({ runs: 3, p10Ns: 850.4, medianNs: 1234, p90Ns: 4.56e6 })).toBe(
      'median 1.23 us, 850 ns to 4.56 ms for 8 of 10 (3 runs)',
    )
    expect(formatTiming({ runs: 1, p10Ns: 2e9, medianNs: 2e9, p90Ns: 2e9 })).toContain('median 2.00 s')
  })
})

describe('jsonValues', () => {
  const values = (dtype: string, shape: number[], elements: readonly Element[]): unknown =>
    jsonValues(tensor(dtype, shape, elements))

  test.each([
    [
      'f32',
      [2, 2],
      [1, 2.5, -3, 0],
      [
        [1, 2.5],
        [-3, 0],
      ],
    ],
    ['f32', [], [2.5], 2.5],
    ['f32', [2, 0], [], [[], []]],
    ['f32', [0, 2], [], []],
    ['s16', [1, 2, 1], [1, 2], [[[1], [2]]]],
    ['pred', [2], [true, false], [true, false]],
    ['s64', [3], [1n, 2n ** 53n, -(2n ** 63n)], [1, '9007199254740992', '-9223372036854775808']],
    ['f64', [3], [Number.NaN, Infinity, -Infinity], ['NaN', 'Infinity', '-Infinity']],
    ['c64', [1], [[1, Number.NaN]], [[1, 'NaN']]],
  ] as const)('jsonValues() nests the elements of %s%j', (dtype, shape, elements, expected) => {
    expect(values(dtype, [...shape], elements)).toEqual(expected)
  })
})

test('tenon call --help lists every flag', () => {
  const { code, stdout, stderr } = runTenon(['call', '--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const flag of ['arg', 'attr', 'result', 'abi', 'allow-newer-api', 'repeat', 'json'])
    expect(stdout).toContain(`--${flag}`)
})

if (process.platform === 'linux')
  test('reports that stdout cannot be written, without a stack trace', () => {
    const full = openSync('/dev/full', 'w')
    try {
      for (const args of [['--version'], ['inspect', kernelLibrary('kernels')]]) {
        const { status, stderr } = spawnSync(process.execPath, [tenonProgram, ...args], {
          stdio: ['ignore', full, 'pipe'],
          encoding: 'utf8',
        })
        expect({ status, stderr }).toEqual({
          status: 1,
          stderr: 'tenon: cannot write to stdout: no space left on device\n',
        })
      }
    } finally {
      closeSync(full)
    }
  })
