import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSignature, tensor, type DType, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drawBench } from '../src/benchmark/bench-plot.ts'
import type { BenchResult } from '../src/benchmark/bench-result.ts'
import { formatBench } from '../src/benchmark/bench-table.ts'
import { fillOperands, parseTypes } from '../src/benchmark/filled-operands.ts'
import { measure } from '../src/benchmark/measure.ts'
import { parseSizes } from '../src/benchmark/size-range.ts'
import { styleFor } from '../src/cli/terminal.ts'
import { UsageError } from '../src/cli/usage-error.ts'
import { writeNpy } from '../src/index.ts'
import { runTenon, type Finished } from './run-tenon.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tenon-bench-'))
  writeNpy(join(cwd, 'x.npy'), tensor('f32', [2, 3], [3, 1, 2, 0, 5, 4]))
})
afterAll(() => rmSync(cwd, { recursive: true }))

const kernels = kernelLibrary('kernels')
const bench = (...args: string[]): Finished => runTenon(['bench', ...args, '--time', '20ms'], { cwd })

function resultOf({ code, stdout, stderr }: Finished): BenchResult {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as BenchResult
}

describe('--size', () => {
  test.each<[texts: string[], points: object[]]>([
    [[], [{}]],
    [['n=7'], [{ n: 7 }]],
    [['n=1k,2Ki,1.5k'], [{ n: 1000 }, { n: 2048 }, { n: 1500 }]],
    [['n=1k..20k'], [{ n: 1000 }, { n: 4000 }, { n: 16_000 }, { n: 20_000 }]],
    [['n=1..16,16'], [{ n: 1 }, { n: 4 }, { n: 16 }]],
    [['n=5..5'], [{ n: 5 }]],
    [
      ['m=1,2', '...=3,4'],
      [
        { m: 1, '...': 3 },
        { m: 1, '...': 4 },
        { m: 2, '...': 3 },
        { m: 2, '...': 4 },
      ],
    ],
  ])('%j has the combinations %j', (texts, points) => expect(parseSizes(texts)).toEqual(points))

  test.each([
    ['n', /name=sizes, got n$/],
    ['n=', /name=sizes/],
    ['', /got nothing/],
    ['n=x', /whole numbers such as/],
    ['n=-1', /got -1/],
    ['n=1.5', /got 1\.5/],
    ['n=1..', /got nothing/],
    ['n=4..2', /range such as 1k\.\.1M, got 4\.\.2/],
    ['n=1..2..3', /range such as/],
    ['n=0..4', /starts at 1 or more/],
    ['n=99999999999999999', /whole numbers/],
  ])('%s is refused', (text, message) => {
    expect(() => parseSizes([text])).toThrow(UsageError)
    expect(() => parseSizes([text])).toThrow(message)
  })

  test('is refused for an axis that is given twice, and for more than 100 combinations', () => {
    expect(() => parseSizes(['n=1', 'n=2'])).toThrow('--size n is given more than once')
    const eleven = Array.from({ length: 11 }, (_, i) => i + 1).join(',')
    expect(() => parseSizes([`a=${eleven}`, `b=${eleven}`])).toThrow('at most 100 combinations of sizes, got 121')
  })
})

describe('operands without a file', () => {
  const fill = (text: string, sizes: object, types: string[] = [], read: Tensor[][] = []): (Tensor | Tensor[])[] => {
    const signature = parseSignature('k', text)
    const all = signature.operands.map((_, i) => read[i] ?? [])
    const plan = {
      signature,
      sizes: sizes as Record<string, number>,
      dtypes: parseTypes(types, signature),
      attributes: { k: 3n },
      read: all,
    }
    return fillOperands(plan) as (Tensor | Tensor[])[]
  }
  const typesOf = (operands: (Tensor | Tensor[])[]): unknown[] =>
    operands.map((one) => (Array.isArray(one) ? typesOf(one) : one && String(one.type)))

  test.each<[text: string, sizes: object, types: string[], expected: unknown[]]>([
    ['(x: f32[n], y: f64[n, n]) -> ()', { n: 2 }, [], ['float32[2]', 'float64[2, 2]']],
    ['(x: f32[n*2+1, k]) -> (); k: s64', { n: 2 }, [], ['float32[5, 3]']],
    ['(x: f32[..., n], y: f32[...b, n]) -> ()', { n: 2, '...b': 4 }, [], ['float32[2]', 'float32[4, 2]']],
    ['(x: f32[...]) -> ()', { '...': 6 }, [], ['float32[6]']],
    ['(x: T[n], y: T[n]) -> (); where T in s32 | f64', { n: 1 }, [], ['int32[1]', 'int32[1]']],
    ['(x: T[n], y: T[n]) -> (); where T in s32 | f64', { n: 1 }, ['T=f64'], ['float64[1]', 'float64[1]']],
    ['(x: f32|f16[n]) -> ()', { n: 1 }, ['x=f16'], ['float16[1]']],
    ['(x: f32[n], y?: f32[n]) -> ()', { n: 1 }, [], ['float32[1]', undefined]],
    ['(...xs: f32[n]) -> ()', { n: 1 }, [], [['float32[1]', 'float32[1]']]],
  ])('of %s with %j are %j', (text, sizes, types, expected) =>
    expect(typesOf(fill(text, sizes, types))).toEqual(expected),
  )

  test.each<DType>([
    'float32',
    'float64',
    'float16',
    'bfloat16',
    'float8_e4m3fn',
    'complex64',
    'bool',
    'int8',
    'uint64',
    'int64',
    'int4',
  ])('of %s are numbers from 0 to 1, the same each time', (dtype) => {
    const make = (): number[] =>
      (fill('(x: T[n]) -> ()', { n: 500 }, [`T=${dtype}`])[0] as Tensor).toArray().flat().map(Number)
    const values = make()
    expect(values).toEqual(make())
    expect(values.every((value) => value >= 0 && value <= 1)).toBe(true)
    expect(new Set(values).size).toBeGreaterThan(1)
  })

  test('take the sizes of operands from files, which --size must not contradict', () => {
    const x = tensor('f32', [2, 3])
    expect(typesOf(fill('(x: f32[m, n], y: f32[n]) -> ()', {}, [], [[x], []]))).toEqual(['float32[2, 3]', 'float32[3]'])
    expect(() => fill('(x: f32[m, n], y: f32[n]) -> ()', { n: 4 }, [], [[x], []])).toThrow(
      '--size n is 4, but x of k has the size 3 there',
    )
  })

  test.each<[text: string, sizes: object, types: string[], message: RegExp]>([
    ['(x: f32[n]) -> ()', {}, [], /the size n of k is missing/],
    ['(x: f32[?]) -> ()', {}, [], /axis without a name/],
    ['(x: f32[n/2], y: f32[n]) -> ()', { n: 3 }, [], /n\/2 is 3\/2, which is not a whole number/],
    ['(x: f32[n-4], y: f32[n]) -> ()', { n: 3 }, [], /an axis would have the size -1/],
    ['(x: string[n]) -> ()', { n: 3 }, [], /must be read from a file/],
    ['(x: f32[n]) -> ()', { n: 3 }, ['x=f64'], /must be float32, got float64/],
    ['(x: f32[n]) -> ()', { n: 3 }, ['y=f64'], /does not have an operand or a type variable named y/],
    ['(x: f32[n]) -> ()', { n: 3 }, ['x=f31'], /--type must be name=type/],
    ['(x: f32[n]) -> ()', { n: 3 }, ['x=f32', 'x=f32'], /more than once/],
  ])('of %s with %j and %j are refused', (text, sizes, types, message) => {
    expect(() => fill(text, sizes, types)).toThrow(message)
    expect(() => fill(text, sizes, types)).toThrow(UsageError)
  })
})

describe('a measurement', () => {
  test('runs the contestants in turns, and counts their runs', async () => {
    const order: string[] = []
    let runs = 0
    const spin = (name: string, microseconds: number) => () => {
      if (order.at(-1) !== name) order.push(name)
      if (name === 'slow') runs += 1
      for (const end = performance.now() + microseconds / 1000; performance.now() < end;);
    }
    const contestants = [
      { name: 'quick', run: spin('quick', 2) },
      { name: 'slow', run: spin('slow', 300) },
    ]
    const [quick, slow] = await measure(contestants, 40e6, async () => {})
    expect(order.length).toBeGreaterThan(6)
    expect(slow!.p50Ns).toBeGreaterThanOrEqual(300e3)
    expect(quick!.p50Ns).toBeLessThan(slow!.p50Ns)
    expect(quick!.runsPerSample).toBeGreaterThan(1)
    expect(slow!.runsPerSample).toBe(1)
    // The others are those of the warm-up, and the first of each turn.
    expect(slow!.runs).toBeLessThan(runs)
    expect(slow!.runs).toBeGreaterThan(runs / 3)
    for (const { p50Ns, p90Ns, p99Ns, medianNs } of [quick!, slow!]) {
      expect([p50Ns, p90Ns, p99Ns]).toEqual([p50Ns, p90Ns, p99Ns].toSorted((a, b) => a - b))
      expect(medianNs[0]).toBeLessThanOrEqual(medianNs[1])
    }
  })
})

describe('tenon bench', () => {
  test('measures each size, and counts the bytes of operands and results', () => {
    const { kernel, points, machine } = resultOf(bench(kernels, 'saxpy', '--a', '2', '--size', '...s=1k..5k', '--json'))
    expect(kernel).toBe('saxpy')
    expect(machine['tenon']).toMatch(/^\d+\.\d+\.\d+/)
    expect(points.map(({ sizes, operands, byteSize }) => ({ sizes, operands, byteSize }))).toEqual(
      [1000, 4000, 5000].map((n) => ({
        sizes: { '...s': n },
        operands: [`float32[${n}]`, `float32[${n}]`],
        byteSize: 12 * n,
      })),
    )
    for (const { contestants } of points) {
      expect(contestants.map(({ name }) => name)).toEqual(['in process'])
      expect(contestants[0]!.runs).toBeGreaterThan(0)
    }
  })

  test('compares kernels of a library, and libraries', () => {
    copyFileSync(kernels, join(cwd, 'libother.so'))
    const libraries = resultOf(bench(kernels, 'softmax', '--size', 'c=16', '--with', 'libother.so', '--json'))
    expect(libraries.points[0]!.contestants.map(({ name }) => name)).toEqual(['libkernels.so', 'libother.so'])
    const { code, stdout } = bench(kernels, 'softmax', '--size', 'c=16', '--kernel', 'softmax')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^softmax \(x: f32\[\.\.\., c\]\)/)
    expect(stdout.trimEnd().split('\n').slice(-2)).toEqual([
      expect.stringMatching(/^16 +softmax .* [\d.]+$/),
      expect.stringMatching(/^ +softmax .* x[\d.]+$/),
    ])
  })

  test('takes operands from files', () => {
    const { points } = resultOf(bench(kernels, 'topk', '--arg', 'x.npy', '--k', '2', '--json'))
    expect(points).toMatchObject([{ sizes: {}, operands: ['float32[2, 3]'], byteSize: 24 + 2 * 2 * 4 * 2 }])
  })

  test('measures kernels of TensorFlow, whose signature a loaded library has', () => {
    const library = kernelLibrary('tf_kernels')
    const { points } = resultOf(bench(library, 'Scale', '--size', '...x=16', '--factor', '3', '--json'))
    expect(points).toMatchObject([{ operands: ['float32[16]'], byteSize: 128 }])
    expect(bench(library, 'Join', '--json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--arg xs=xs.npy') as string,
    })
    expect(bench(library, 'Decorate')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--arg text=text.txt@lines') as string,
    })
  })

  test('writes a result, and compares with it', () => {
    const args = [kernels, 'softmax', '--size', 'c=16,64']
    expect(bench(...args, '--save', 'base.json').code).toBe(0)
    const base = JSON.parse(readFileSync(join(cwd, 'base.json'), 'utf8')) as BenchResult
    const changed = (factor: number): void => {
      const points = base.points.map((point) => ({
        ...point,
        contestants: point.contestants.map((one) => ({
          ...one,
          p50Ns: one.p50Ns * factor,
          medianNs: one.medianNs.map((median) => median * factor),
        })),
      }))
      writeFileSync(join(cwd, 'changed.json'), JSON.stringify({ ...base, points: points.slice(0, 1) }))
    }
    const lastRows = (): string[] =>
      bench(...args, '--against', 'changed.json')
        .stdout.trimEnd()
        .split('\n')
        .slice(-2)
    changed(1000)
    expect(lastRows()).toEqual([expect.stringMatching(/ x0\.00 faster$/), expect.stringMatching(/ - +-$/)])
    changed(0.001)
    expect(lastRows()[0]).toMatch(/ x[\d.]+ slower$/)
  })

  test('draws a plot that follows the theme of the reader', () => {
    expect(bench(kernels, 'softmax', '--size', 'c=16,64', '--plot', 'plot.svg').code).toBe(0)
    const svg = readFileSync(join(cwd, 'plot.svg'), 'utf8')
    expect(svg).toContain('<title>The time of softmax against c</title>')
    expect(svg).toContain('@media (prefers-color-scheme: dark)')
  })

  test.each<[flags: string[], code: number, message: RegExp]>([
    [['softmax'], 2, /the size c of softmax is missing[^]*--size c=1k\.\.1M/],
    [['softmax', '--size', 'n=4'], 2, /does not have an axis named n[^]*The axes are/],
    [['softmax', '--size', 'c=4', '--plot', 'x.svg'], 2, /--plot needs one axis with several sizes/],
    [['softmax', '--size', 'c=4', '--kernel', 'saxpy', '--with', 'x.so'], 2, /cannot be used together/],
    [['topk', '--size', 'n=4'], 2, /k of topk must be s64, got no value/],
    [['nosuch', '--size', 'n=4'], 1, /does not have a signature for a kernel named nosuch/],
    [['clip_v1', '--size', 'n=4'], 1, /does not have a signature/],
    [['softmax', '--size', 'c=4', '--against', 'missing.json'], 1, /missing\.json/],
    [['softmax', '--size', 'c=4', '--against', 'x.npy'], 1, /is not a result of tenon bench/],
  ])('%j is refused with exit code %i', (flags, code, message) => {
    const finished = bench(kernels, ...flags)
    expect(finished).toMatchObject({ code, stdout: '' })
    expect(finished.stderr).toMatch(message)
  })

  test('refuses a duration that is not one', () => {
    expect(runTenon(['bench', kernels, 'softmax', '--size', 'c=4', '--time', '0'], { cwd })).toMatchObject({ code: 2 })
    expect(runTenon(['bench', kernels, 'softmax', '--size', 'c=4', '--time', '1h'], { cwd }).stderr).toContain(
      'at most 10min',
    )
  })

  // Workers need Linux.
  if (process.platform === 'linux')
    test('measures a kernel in this process and in one of its own', () => {
      const { points } = resultOf(bench(kernels, 'softmax', '--size', 'c=16', '--isolate', '--json'))
      const [here, isolated] = points[0]!.contestants
      expect([here!.name, isolated!.name]).toEqual(['in process', 'isolated'])
      expect(isolated!.p50Ns).toBeGreaterThan(here!.p50Ns)
    })
})

describe('a result', () => {
  const own = {
    name: 'in process',
    runs: 10,
    runsPerSample: 1,
    meanNs: 2000,
    p50Ns: 1000,
    p90Ns: 3000,
    p99Ns: 4000,
    medianNs: [990, 1010] as const,
  }
  const result: BenchResult = {
    kernel: 'k',
    signature: '(x: f32[n]) -> (y: f32[n])',
    date: '2026-01-02T03:04:05.000Z',
    machine: { cpu: 'Test', cores: 2, platform: 'linux-x64', runtime: 'node 24' },
    points: [8, 16].map((n) => ({
      sizes: { n },
      operands: [`float32[${n}]`],
      byteSize: 8 * n,
      contestants: [own, { ...own, name: 'isolated', p50Ns: 2500 }],
    })),
  }

  test('is a table with quantiles, throughput and the ratio to the first contestant', () => {
    expect(formatBench(result, undefined, styleFor(process.stdout)).split('\n').slice(3)).toEqual([
      'n   contestant  p50      p90      p99      calls/s  GB/s    ratio',
      '8   in process  1.00 us  3.00 us  4.00 us  500,000  0.0320',
      '    isolated    2.50 us  3.00 us  4.00 us  500,000  0.0320  x2.50',
      '16  in process  1.00 us  3.00 us  4.00 us  500,000  0.0640',
      '    isolated    2.50 us  3.00 us  4.00 us  500,000  0.0640  x2.50',
    ])
  })

  test('differs from a baseline only beyond the spread of both', () => {
    const near = {
      ...result,
      points: result.points.map((point) => ({
        ...point,
        contestants: [{ ...own, p50Ns: 1005, medianNs: [1000, 1020] as const }],
      })),
    }
    const [, first] = formatBench(result, near, styleFor(process.stdout)).split('\n').slice(3)
    expect(first).toMatch(/1\.00 us +x1\.00$/)
  })

  test('is drawn with a line for each contestant', () => {
    const svg = drawBench(result, 'n')
    for (const name of ['in process', 'isolated']) expect(svg).toContain(`>${name}</text>`)
  })
})
