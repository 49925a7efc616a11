import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNpy, writeNpy } from '../src/index.ts'
import { expectRefusal } from './expect-refusal.ts'
import { runTenon, tenonShellCommand, type Finished } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const kernels = kernelLibrary('kernels')

/** Signatures for kernels that have none of their own, by the library. */
const sidecars: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kernels: {
    describe_attrs: `() -> (text: u8[256]); a?: f32, b?: f64, i?: s64, n?: u8, exact: pred = false, mode: enum("fast", "safe") = "fast",
      name?: string, axes?: s64[], weights?: f32[], z?: c64, config?: { depth: s32 }, free?: dictionary, json?: s32, when?: dtype`,
    clip_v1: '(x: f32[n]) -> (y: f32[?]); low: f32 = 0, high: f32 = 2',
  },
  packed: { add_one: '(x: f32[n]) -> (y: f32[n])' },
}

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-signed-'))
  for (const [name, texts] of Object.entries(sidecars)) {
    symlinkSync(kernelLibrary(name), join(directory, `lib${name}.so`))
    writeFileSync(join(directory, `lib${name}.tenon.json`), JSON.stringify({ tenon: 1, kernels: texts }))
  }
  writeNpy(join(directory, 'x.npy'), tensor('f32', [2, 3], [3, 1, 2, 0, 5, 4]))
  writeNpy(join(directory, 'flat.npy'), tensor('f32', [1e9, 0]))
  writeNpy(join(directory, 'v.npy'), tensor('f32', [3], [1, 2, 3]))
  writeNpy(join(directory, 'w.npy'), tensor('f32', [3], [10, 20, 30]))
  writeNpy(join(directory, 'a.npy'), tensor('f64', [2, 2], [1, 2, 3, 4]))
})
afterAll(() => rmSync(directory, { recursive: true }))

const call = (...args: string[]): Finished => runTenon(['call', ...args], { cwd: directory })
const callHere = (...args: string[]): Promise<Finished> => runTenonHere(['call', ...args], directory)
const done = (stdout: string, stderr = ''): Finished => ({ code: 0, stdout, stderr })

describe('tenon call with a signature', () => {
  test('needs neither results, nor types, nor the convention', () => {
    const uniform = '[[0.33333334 0.33333334 0.33333334]\n [0.33333334 0.33333334 0.33333334]]\n'
    expect(call(kernels, 'softmax', '--arg', 'x.npy', '--temperature', 'inf')).toEqual(done(uniform))
    expect(call(kernels, 'softmax', '--arg', 'x.npy').code).toBe(0)
    expect(call(kernels, 'matmul', '--arg', 'a.npy', '--arg', 'a.npy')).toEqual(done('[[ 7. 10.]\n [15. 22.]]\n'))
  })

  test('prints results by name, and writes those that --out names', () => {
    const topk = [kernels, 'topk', '--arg', 'x.npy', '--k', '1']
    expect(call(...topk)).toEqual(done('[[3.]\n [5.]]\n[[0]\n [1]]\n', 'values: float32[2, 1]\nindices: int32[2, 1]\n'))
    expect(call(...topk, '--out', 'indices=i.npy')).toEqual(
      done('[[3.]\n [5.]]\n', 'values: float32[2, 1]\ni.npy: int32[2, 1]\n'),
    )
    expect(readNpy(join(directory, 'i.npy')).toArray()).toEqual([0, 1])
    expect(call(kernels, 'softmax', '--arg', 'x.npy', '--out', 'y.npy').stderr).toBe('y.npy: float32[2, 3]\n')
    expect(call(kernels, 'softmax', '--arg', 'x.npy', '--out', 'y=z.npy').stderr).toBe('z.npy: float32[2, 3]\n')
    expect(call(kernels, 'softmax', '--arg', 'x.npy', '--result', 'f32[2,3]:r.npy').stderr).toBe(
      'r.npy: float32[2, 3]\n',
    )
  })

  test('takes operands in order and by name, and omits optional ones', () => {
    const sum = (...args: string[]): string => call(kernels, 'optional_sum', ...args).stdout
    expect(sum('--arg', 'v.npy')).toBe('[1. 2. 3.]\n')
    expect(sum('--arg', 'v.npy', '--arg', 'w.npy')).toBe('[11. 22. 33.]\n')
    expect(sum('--arg', 'bias=w.npy', '--arg', 'v.npy')).toBe('[11. 22. 33.]\n')
    expect(sum('--arg', 'bias=w.npy', '--arg', 'x=v.npy', '--arg', 'w.npy', '--arg', 'more=v.npy')).toBe(
      '[22. 44. 66.]\n',
    )
  })

  test('reads an operand from stdin or from a pipe', () => {
    const bash = (script: string): string =>
      execFileSync('bash', ['-c', script, 'tenon', kernels], {
        cwd: directory,
        encoding: 'utf8',
      })
    expect(bash(`cat v.npy | ${tenonShellCommand} call "$1" optional_sum --arg -`)).toBe('[1. 2. 3.]\n')
    expect(bash(`${tenonShellCommand} call "$1" optional_sum --arg - --arg w.npy < v.npy`)).toBe('[11. 22. 33.]\n')
    expect(bash(`${tenonShellCommand} call "$1" optional_sum --arg x=<(cat v.npy) --arg bias=w.npy`)).toBe(
      '[11. 22. 33.]\n',
    )
    expect(bash(`head -c 20 v.npy | ${tenonShellCommand} call "$1" optional_sum --arg - 2>&1 || true`)).toContain(
      'cannot read stdin: ',
    )
  })

  test('has a flag for each attribute', async () => {
    const attrs = async (...args: string[]): Promise<string> => {
      const { stdout, stderr } = await callHere(
        'libkernels.so',
        'describe_attrs',
        '--json',
        '--attr',
        'json=7',
        ...args,
      )
      if (stderr !== '') throw new Error(stderr)
      const [{ values }] = (JSON.parse(stdout) as { results: [{ values: number[] }] }).results
      return Buffer.from(values).toString('latin1').replace(/\0+$/, '')
    }
    const defaults = 'exact=PRED:false json=S32:7 mode=STRING:"fast"'
    expect(await attrs()).toBe(defaults)
    expect(await attrs('--exact', '--mode', 'safe', '--a=-inf')).toBe(
      'a=F32:-inf exact=PRED:true json=S32:7 mode=STRING:"safe"',
    )
    expect(await attrs('--no-exact', '--i', '-9007199254740993')).toContain('i=S64:-9007199254740993')
    expect(await attrs('--axes', '0,1', '--weights', '0.5, 1', '--name', 'str:x')).toBe(
      'axes=S64[0,1] exact=PRED:false json=S32:7 mode=STRING:"fast" name=STRING:"str:x" weights=F32[0.5,1]',
    )
    expect(await attrs('--attr', 'a=1.5', '--attr', 'n=u8:3', '--attr', 'name=str:y')).toBe(
      'a=F32:1.5 exact=PRED:false json=S32:7 mode=STRING:"fast" n=U8:3 name=STRING:"y"',
    )
    expect(await attrs('--config', '{"depth":2}')).toMatch(/config=.*depth=S32:2/)
    expect(await attrs('--free', '{"on":true,"mode":"fast","eps":"f32:0.5"}')).toMatch(
      /free=.*eps=F32:0.5.*mode=STRING:"fast".*on=PRED:true/,
    )
    expect(await attrs('--when', 'f32')).toContain('when=S32:11')
  })

  test('calls a packed function', () => {
    expect(call('libpacked.so', 'add_one', '--arg', 'v.npy')).toEqual(done('[2. 3. 4.]\n'))
    expect(call('libpacked.so', 'add_one', '--arg', 'x=v.npy', '--out', 'p.npy').stderr).toBe('p.npy: float32[3]\n')
    expect(call('libpacked.so', 'sum', '--arg', 'int:1', '--arg', 'float:0.5').stdout).toBe('1.5\n')
  })

  test('--result states what the operands do not determine', () => {
    const clip = ['libkernels.so', 'clip_v1', '--arg', 'v.npy']
    expect(call(...clip, '--result', 'f32[3]')).toEqual(done('[1. 2. 2.]\n'))
    expectRefusal(call(...clip), 1, 'y of clip_v1 must be given', '--result')
  })

  test('--json and --repeat print what they do without a signature', () => {
    const { stdout } = call(kernels, 'topk', '--arg', 'x.npy', '--k', '2', '--repeat', '10', '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      symbol: 'topk',
      convention: 'typed',
      version: '0.1',
      operands: ['float32[2, 3]'],
      results: [
        {
          name: 'values',
          type: 'float32[2, 2]',
          values: [
            [3, 2],
            [5, 4],
          ],
        },
        { name: 'indices', type: 'int32[2, 2]' },
      ],
      timing: { runs: 10 },
    })
  })

  test('--help prints the signature, its doc, and the flags with types and defaults', async () => {
    const { code, stdout, stderr } = call(kernels, 'softmax', '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(
      'softmax (x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1\nSoftmax over the last axis.\n',
    )
    expect(stdout).toMatch(/--temperature f32 +default 1\n/)
    expect(stdout).toContain('--arg x.npy')
    expect((await callHere(kernels, 'topk', '--help')).stdout).toMatch(/--k s64 +required\n/)
    const flags = (await callHere('libkernels.so', 'describe_attrs', '--help')).stdout
    expect(flags).toMatch(/--exact +default false\n +--no-exact +exact = false\n/)
    expect(flags).toMatch(/--mode enum\("fast", "safe"\) +default "fast"\n/)
    expect(flags).toContain('an attribute')
    expect((await callHere(kernels, 'clip_v1', '--help')).stdout).toContain('usage')
  })

  test('flags that replace the signature call the kernel by hand', async () => {
    const opaque = await callHere(
      kernels,
      'softmax',
      '--arg',
      'x.npy',
      '--alias',
      '0=0',
      '--attr',
      'temperature=f32:1',
      '--result',
      'f32[2,3]',
    )
    expect(opaque.code).toBe(0)
    expectRefusal(
      await callHere(kernels, 'softmax', '--arg', 'x.npy', '--alias', '0=0', '--temperature', '1'),
      2,
      '--temperature needs the signature',
    )
    expectRefusal(
      await callHere(kernels, 'clip_v1', '--arg', 'x.npy', '--out', 'y.npy'),
      2,
      '--out needs the signature of clip_v1',
    )
  })

  test('prints a result without elements as NumPy does, whatever its other sizes', () => {
    expect(call(kernels, 'softmax', '--arg', 'flat.npy')).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  })

  test('refuses a convention that contradicts the signature', async () => {
    const result = ['--arg', 'x.npy', '--result', 'f32[2,3]']
    expectRefusal(
      await callHere(kernels, 'softmax', '--abi', 'host', ...result),
      1,
      'softmax must be called as a typed kernel, got host',
    )
    expectRefusal(await callHere(kernels, 'softmax', '--abi', 'packed', ...result), 1, 'got packed')
    expect((await callHere(kernels, 'softmax', '--abi', 'typed', '--arg', 'x.npy')).code).toBe(0)
  })

  test.each<[string[], number, string, string | undefined]>([
    [[kernels, 'softmax'], 2, 'x is missing: softmax takes the operand x', '--arg x=x.npy'],
    [[kernels, 'softmax', '--arg', 'x.npy', '--arg', 'x.npy'], 2, 'unexpected --arg x.npy', undefined],
    [[kernels, 'softmax', '--arg', 'x=x.npy', '--arg', 'x=x.npy'], 2, '--arg x is given more than once', undefined],
    [[kernels, 'softmax', '--arg', 'a.npy'], 1, 'x of softmax must be float32[..., c], got float64[2, 2]', undefined],
    [[kernels, 'softmax', '--arg', 'x.npy', '--temprature', '2'], 2, 'there is no flag --temprature', '--temperature'],
    [
      [kernels, 'softmax', '--temperature', '2', '--attr', 'temperature=2', '--arg', 'x.npy'],
      2,
      'given by --temperature and by --attr',
      undefined,
    ],
    [
      [kernels, 'softmax', '--attr', 'temprature=2', '--arg', 'x.npy'],
      2,
      'does not have an attribute named temprature',
      'temperature',
    ],
    [
      [kernels, 'softmax', '--attr', 'temperature=f64:2', '--arg', 'x.npy'],
      2,
      'temperature must be f32, got f64',
      'temperature=2',
    ],
    [
      [kernels, 'softmax', '--temperature', 'hot', '--arg', 'x.npy'],
      2,
      '--temperature hot: the value must be a number, got hot',
      undefined,
    ],
    [
      [kernels, 'softmax', '--temperature', '1e999', '--arg', 'x.npy'],
      2,
      '--temperature 1e999: the value must be between -1.8e308 and 1.8e308, got 1e999',
      'inf',
    ],
    [
      [kernels, 'topk', '--k', '1', '--arg', 'x.npy', '--out', 'values=o.npy', '--out', 'indices=./o.npy'],
      2,
      'values and indices of topk must have files of their own, got ./o.npy for both',
      undefined,
    ],
    [
      [kernels, 'softmax', '--arg', 'x.npy', '--result', 'f32[99999999999999999999]'],
      2,
      'a size must be at most 2^53 - 1',
      undefined,
    ],
    [
      [kernels, 'softmax', '--arg', 'flat.npy', '--json'],
      1,
      'a tensor without elements has at most 16777216 nested arrays, got 1000000001 of float32[1000000000, 0]',
      undefined,
    ],
    [[kernels, 'sofmax', '--arg', 'x.npy', '--isolate'], 1, 'does not export a symbol named "sofmax"', 'softmax'],
    [[kernels, 'softmax', '--temperature'], 2, '--temperature needs a value', undefined],
    [[kernels, 'topk', '--arg', 'x.npy'], 2, 'k of topk must be s64, got no value', '--k '],
    [[kernels, 'topk', '--arg', 'x.npy', '--k', '9'], 1, 'topk requires k <= n, got k = 9 and n = 3', undefined],
    [
      [kernels, 'softmax', '--arg', 'x.npy', '--registered'],
      1,
      'does not register a handler or function named "softmax"',
      undefined,
    ],
    [['libkernels.so', 'describe_attrs', '--free', '{"a":1}'], 2, 'a number must have its type', 'f32:1'],
    [[kernels, 'topk', '--arg', 'x.npy', '--k', '1', '--out', 'o.npy'], 2, '--out must be name=file.npy', undefined],
    [
      [kernels, 'topk', '--arg', 'x.npy', '--k', '1', '--out', 'value=o.npy'],
      2,
      '--out must be name=file.npy',
      'values',
    ],
    [
      ['libkernels.so', 'describe_attrs', '--json'],
      2,
      '--json is an option of tenon call and an attribute of describe_attrs',
      '--attr json=',
    ],
    [['libkernels.so', 'describe_attrs', '--exact', '--no-exact'], 2, 'contradict each other', undefined],
    [['libkernels.so', 'describe_attrs', '--exact=yes'], 2, '--exact takes no value', undefined],
    [['libkernels.so', 'describe_attrs', '--config', '{depth'], 2, 'the value must be JSON', undefined],
    [['libkernels.so', 'describe_attrs', '--mode', 'slow'], 1, 'mode of describe_attrs must be one of', undefined],
    [['libkernels.so', 'describe_attrs', '--n', '256'], 1, 'n of describe_attrs must be u8, got 256', undefined],
    [['--temperature', '2', kernels, 'softmax'], 2, 'there is no flag --temperature', 'tenon call --help'],
  ])('refuses %j', async (args, code, sentence, hint) => {
    expectRefusal(await callHere(...args), code, sentence, hint)
  })
})
