import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNpy, writeNpy } from '../src/index.ts'
import { largestDifference, noise, rmsNormReference } from './reference.ts'
import { expectRefusal } from './expect-refusal.ts'
import { runTenon, type Finished } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const kernels = kernelLibrary('kernels')
const throwing = kernelLibrary('kernels_cpp')
const runtime = kernelLibrary('kernels_runtime')
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../weights/test/fixtures/${name}.npy`, import.meta.url))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-call-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const call = (...args: string[]): Finished => runTenon(['call', ...args], { cwd: directory })
const callHere = (...args: string[]): Promise<Finished> => runTenonHere(['call', ...args], directory)

describe('tenon call', () => {
  test.each([[[1, 1]], [[2, 4]], [[1000, 768]]])('rms_norm on %j is within 1e-6 of double precision', (shape) => {
    const values = noise(shape[0]! * shape[1]!)
    writeNpy(join(directory, 'x.npy'), tensor('f32', shape, values))
    const type = `f32[${shape.join()}]`
    const finished = call(kernels, 'rms_norm', '--arg', 'x.npy', '--attr', 'eps=f32:1e-5', '--result', `${type}:y.npy`)
    expect(finished).toEqual({ code: 0, stdout: '', stderr: `y.npy: float32[${shape.join(', ')}]\n` })
    const y = readNpy(join(directory, 'y.npy'))
    expect([y.dtype, y.shape]).toEqual(['float32', shape])
    const expected = rmsNormReference(values, shape[1]!, Math.fround(1e-5))
    expect(largestDifference(y.view() as Float32Array, expected)).toBeLessThan(1e-6)
  })

  test('prints a result without a file like NumPy', () => {
    const { code, stdout, stderr } = call(
      kernels,
      'broadcast_add',
      '--arg',
      fixture('vector'),
      '--arg',
      fixture('vector'),
      '--result',
      'f32[5]',
    )
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '[0. 2. 4. 6. 8.]\n', stderr: '' })
  })

  test('reads operands of any NumPy layout: big-endian, column-major, version 3', () => {
    const outputs = ['float32', 'float32-big-endian', 'float32-fortran', 'version-3'].map(
      (name) =>
        call(kernels, 'rms_norm', '--arg', fixture(name), '--attr', 'eps=f32:1e-5', '--result', 'f32[2,3]').stdout,
    )
    expect(outputs[0]).toMatch(/^\[\[-1\.549/)
    expect(new Set(outputs).size).toBe(1)
  })

  test('calls an untyped host function by the convention that its library marks', () => {
    const [b, c] = [noise(128), noise(2048)]
    writeNpy(join(directory, 'b.npy'), tensor('f32', [128], b))
    writeNpy(join(directory, 'c.npy'), tensor('f32', [2048], c))
    for (const [symbol, ...abi] of [
      ['do_custom_call'],
      ['do_custom_call', '--abi', 'host'],
      ['broadcast_add', '--abi', 'typed'],
    ]) {
      expect(
        call(kernels, symbol!, ...abi, '--arg', 'b.npy', '--arg', 'c.npy', '--result', 'f32[2048]:a.npy').code,
      ).toBe(0)
      const expected = c.map((value, i) => Math.fround(b[i % 128]! + value))
      expect(readNpy(join(directory, 'a.npy')).view()).toEqual(expected)
    }
  })

  test('untyped host calls can report failures and receive an opaque string', () => {
    const path = (name: string, value: number): string => {
      writeNpy(join(directory, `${name}.npy`), tensor('s32', [], [value]))
      return `${name}.npy`
    }
    const add = (a: string, b: string, ...abi: string[]): Finished =>
      call(runtime, 'checked_add', '--arg', a, '--arg', b, '--result', 's32[]', ...abi)
    const [two, most] = [path('two', 2), path('most', 2 ** 31 - 1)]
    expect(add(two, two)).toEqual({ code: 0, stdout: '4\n', stderr: '' })
    expectRefusal(add(two, most), 3, 'the sum does not fit into 32 bits')
    expectRefusal(
      add(two, two, '--opaque', 'x'),
      2,
      'checked_add is a host-status call, which does not accept --opaque',
    )

    const copy = ['copy_opaque', '--opaque', 'hello', '--result', 'u8[5]', '--result', 's64[]']
    expect(call(runtime, ...copy).stdout).toBe('[104 101 108 108 111]\n5\n')
    expectRefusal(
      call(runtime, 'copy_opaque', '--result', 'u8[5]', '--abi', 'host'),
      1,
      'must be called as a host-unified kernel, got host',
    )
  })

  test('--json prints one document with values and timing', () => {
    const { code, stdout, stderr } = call(
      kernels,
      'rms_norm',
      '--arg',
      fixture('float32'),
      '--attr',
      'eps=f32:0',
      '--result',
      'f32[2,3]',
      '--repeat',
      '250',
      '--json',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const document = JSON.parse(stdout) as { results: { values: number[][] }[]; timing: Record<string, number> }
    expect(document).toMatchObject({
      library: kernels,
      symbol: 'rms_norm',
      convention: 'typed',
      version: '0.1',
      operands: ['float32[2, 3]'],
      results: [{ type: 'float32[2, 3]' }],
      timing: { runs: 250 },
    })
    const [first, second] = document.results[0]!.values
    const expected = rmsNormReference([-1, -0.5, 0, 0.5, 1, 1.5], 3, 0)
    expect(largestDifference([...first!, ...second!], expected)).toBeLessThan(1e-6)
    const { medianNs, p10Ns, p90Ns } = document.timing
    expect(p10Ns).toBeGreaterThan(0)
    expect(medianNs).toBeGreaterThanOrEqual(p10Ns!)
    expect(p90Ns).toBeGreaterThanOrEqual(medianNs!)
  })

  test('--repeat prints the median and the spread to stderr', () => {
    const { stdout, stderr } = call(
      kernels,
      'broadcast_add',
      '--arg',
      fixture('vector'),
      '--arg',
      fixture('vector'),
      '--result',
      'f32[5]',
      '--repeat',
      '1000',
    )
    expect(stdout).toBe('[0. 2. 4. 6. 8.]\n')
    expect(stderr).toMatch(/^median \S+ (ns|us|ms), \S+ (ns|us|ms) to \S+ (ns|us|ms) for 8 of 10 \(1000 runs\)\n$/)
  })

  test('passes attributes of every kind unchanged', () => {
    const attributes = [
      'a=f32:1.5',
      'b=f64:-inf',
      'c=s64:-9007199254740993',
      'd=pred:true',
      'e=str:text=1',
      'f=s8[]:1,-2',
      'g=u64[]:',
    ]
    const args = attributes.flatMap((attribute) => ['--attr', attribute])
    const { stdout } = call(kernels, 'describe_attrs', ...args, '--result', 'u8[256]', '--json')
    const [{ values }] = (JSON.parse(stdout) as { results: [{ values: number[] }] }).results
    expect(Buffer.from(values).toString('latin1').replace(/\0+$/, '')).toBe(
      'a=F32:1.5 b=F64:-inf c=S64:-9007199254740993 d=PRED:true e=STRING:"text=1" f=S8[1,-2] g=U64[]',
    )
  })

  test('prints several results in order, and --abi selects the convention of an unmarked function', () => {
    const source =
      'void two(void *out, const void **in) { void **outs = out; *(float *)outs[0] = 1.5f; *(int *)outs[1] = in != 0; }'
    writeFileSync(join(directory, 'two.c'), source)
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', 'two.so', 'two.c'], { cwd: directory })
    const results = ['--result', 'f32', '--result', 's32[1]', '--abi', 'host']
    expect(call('two.so', 'two', ...results)).toEqual({
      code: 0,
      stdout: '1.5\n[1]\n',
      stderr: 'result 0: float32[]\nresult 1: int32[1]\n',
    })
    const { stdout } = call('two.so', 'two', ...results, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ convention: 'host', results: [{ values: 1.5 }, { values: [1] }] })
    expectRefusal(
      call('two.so', 'two', '--result', 'f32'),
      2,
      'two.so does not mark the calling convention of two',
      '--abi host',
    )
  })
})

describe('refusals have one message and a stable exit code', () => {
  const x = (): string[] => ['--arg', fixture('float32')]
  const eps = ['--attr', 'eps=f32:1e-5']
  const y = ['--result', 'f32[2,3]']

  test('wrong types, ranks, counts and attributes are reported with the message of a kernel without a signature', async () => {
    const clip = (...args: string[]): Promise<Finished> => callHere(kernels, 'clip_v1', ...args)
    const [v, out] = [
      ['--arg', fixture('vector')],
      ['--result', 'f32[5]'],
    ] as const
    const [low, high] = [
      ['--attr', 'low=f32:0'],
      ['--attr', 'high=f32:1'],
    ] as const
    expectRefusal(
      await clip('--arg', fixture('float64'), ...low, ...high, ...out),
      1,
      'expected F32 but got F64',
      'astype',
    )
    expectRefusal(await clip(...x(), ...low, ...high, ...out), 1, 'Wrong buffer rank: expected 1 but got 2', 'reshape')
    expectRefusal(await clip(...v, ...out), 1, 'Wrong number of attributes: expected 2 but got 0', '--attr')
    expectRefusal(
      await clip(...v, ...low, '--attr', 'hihg=f32:1', ...out),
      1,
      'Missing attribute: high',
      '--attr high=',
    )
    expectRefusal(
      await clip(...v, ...low, '--attr', 'high=f64:1', ...out),
      1,
      'expected F32 but got F64 (attribute high)',
      'as F32',
    )
    expectRefusal(await clip(...low, ...high, ...out), 1, 'Wrong number of arguments: expected 1 but got 0', '--arg')
    expectRefusal(await clip(...v, ...low, ...high), 1, 'Wrong number of results: expected 1 but got 0', '--result')
  })

  test('exits with 3 if a kernel fails or throws', async () => {
    expectRefusal(
      await callHere(kernels, 'fail_with', '--attr', 'code=s32:9', '--attr', 'message=str:not ready'),
      3,
      'fail_with answered FAILED_PRECONDITION: not ready',
    )
    expectRefusal(
      await callHere(kernels, 'fail_with', '--attr', 'code=s32:99', '--attr', 'message=str:odd'),
      3,
      'UNKNOWN (code 99): odd',
    )
    expectRefusal(
      await callHere(throwing, 'throw_runtime_error', '--attr', 'message=str:boom'),
      3,
      'throw_runtime_error threw a C++ exception: boom',
    )
    expectRefusal(await callHere(throwing, 'throw_int'), 3, 'throw_int threw a C++ exception')
    expectRefusal(
      await callHere(throwing, 'throw_from_host_call', '--result', 'f32[1]'),
      3,
      'threw a C++ exception: from a host call',
    )
  })

  test('refuses files that are not libraries, and unknown symbols', async () => {
    writeFileSync(join(directory, 'text.so'), 'int main(void) { return 0; }\n')
    expectRefusal(await callHere('text.so', 'rms_norm'), 1, 'the file is not a shared library, but a text file')
    expectRefusal(await callHere('absent.so', 'rms_norm'), 1, 'cannot open absent.so: no such file')
    expectRefusal(await callHere('.', 'rms_norm'), 1, 'a directory')
    expectRefusal(
      await callHere(kernels, 'rms_nrom', ...x(), ...eps, ...y),
      1,
      'does not export a symbol named "rms_nrom"',
      'Did you mean rms_norm?',
    )
    const foreign = readFileSync(kernels)
    if (process.platform === 'linux') {
      foreign.writeUInt16LE(process.arch === 'arm64' ? 62 : 183, 18)
      writeFileSync(join(directory, 'foreign.so'), foreign)
      expectRefusal(
        await callHere('foreign.so', 'rms_norm', ...x(), ...eps, ...y),
        1,
        process.arch === 'arm64' ? 'is for x64' : 'is for arm64',
      )
    }
  })

  test('refuses conventions that contradict the library, and functions without a known convention', async () => {
    expectRefusal(
      await callHere(kernels, 'rms_norm', '--abi', 'host', ...x(), ...y),
      1,
      'rms_norm must be called as a typed kernel, got host',
    )
    expectRefusal(
      await callHere(kernels, 'do_custom_call', '--abi', 'typed'),
      1,
      'do_custom_call must be called as a host kernel, got typed',
    )
    expectRefusal(await callHere(kernels, 'do_custom_call', ...eps, ...y), 2, 'does not have an attribute named eps')
    expectRefusal(await callHere(kernels, 'do_custom_call'), 2, 'b is missing: do_custom_call takes the operands b, c')
    expectRefusal(await callHere(runtime, 'increment', ...eps, ...y), 2, 'does not accept --attr')
    expectRefusal(await callHere(runtime, 'increment'), 2, 'needs a --result')
    expectRefusal(await callHere(kernels, 'silent'), 1, 'must be a typed XLA handler', '--abi host')
    expectRefusal(
      await callHere(kernels, 'twice_v5', '--arg', fixture('vector'), '--result', 'f32[5]'),
      1,
      'must be built for XLA FFI 0.1 to 0.4, got 0.5',
      '--allow-newer-api',
    )
  })

  test('refuses arrays that cannot be read or written', async () => {
    expectRefusal(
      await callHere(kernels, 'rms_norm', '--arg', 'absent.npy', ...eps, ...y),
      1,
      'cannot open absent.npy: no such file',
    )
    expectRefusal(
      await callHere(kernels, 'rms_norm', '--arg', fixture('refused-object'), ...eps, ...y),
      1,
      'Python objects',
      'astype',
    )
    expectRefusal(
      await callHere(kernels, 'rms_norm', ...x(), ...eps, '--result', 'f32[2,3]:no/y.npy'),
      1,
      'cannot open no/y.npy: its folder does not exist',
    )
    expectRefusal(
      await callHere(kernels, 'rms_norm', '--arg', '.', ...eps, ...y),
      1,
      'cannot read .: it is a directory',
    )
    expectRefusal(
      await callHere(kernels, 'rms_norm', ...x(), ...eps, '--result', 'bf16[2,3]:y.npy'),
      1,
      'dtype must be a type that NumPy has, got bfloat16',
      'uint16',
    )
    expectRefusal(
      await callHere(kernels, 'rms_norm', ...x(), ...eps, '--result', 'f32[99999999999,99]'),
      1,
      'could not be allocated',
    )
  })

  test.each([
    [['--attr', 'low=1e-5'], 'a number must have its type', 'low=f32:1e-5 or low=f64:1e-5'],
    [['--attr', 'low=f32:1', '--attr', 'low=f32:2'], '--attr low is given more than once', undefined],
    [['--result', 'f32'], undefined, undefined],
    [['--result', 'y.npy'], '--result must be type[size,size,...]:file.npy, got y.npy', 'f32[2,4]:y.npy'],
    [['--repeat', '0'], '--repeat must be a whole number from 1', undefined],
    [['--repeat', '-1'], '--repeat must be a whole number from 1', undefined],
    [['--repeat', '1.5'], '--repeat must be a whole number from 1', undefined],
    [
      ['--abi', 'rocm'],
      '--abi must be one of typed, host, host-status, host-unified, cuda, cuda-status, cuda-typed, packed, got rocm',
      undefined,
    ],
    [['--arg'], '--arg needs a value', undefined],
    [['--args', 'x.npy'], 'there is no flag --args', 'Did you mean --arg'],
    [['more'], 'unexpected argument more', undefined],
  ])('checks the flags %j', async (args, message, hint) => {
    const finished = await callHere(kernels, 'clip_v1', ...args)
    if (message === undefined) expect(finished.code).toBe(1)
    else expectRefusal(finished, 2, message, hint)
  })
})
