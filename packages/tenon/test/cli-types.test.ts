import { runtime } from '@tenon/core/internal'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSignature } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkProject, writeProject } from '../bench/declaration-project.ts'
import { declareKernels } from '../src/cli/declare-kernel.ts'
import { runTenon, type Finished } from './run-tenon.ts'

const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-types-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  symlinkSync(kernelLibrary('kernels'), join(directory, 'libkernels.so'))
  symlinkSync(kernelLibrary('packed'), join(directory, 'libpacked.so'))
  const packed = { add_one: '(x: f32[n]) -> (y: f32[n])', ghost: '() -> ()' }
  writeFileSync(join(directory, 'libpacked.tenon.json'), JSON.stringify({ tenon: 1, kernels: packed }))
})
afterAll(() => rmSync(directory, { recursive: true }))

const run = (...args: string[]): Finished => runTenon(['types', ...args], { cwd: directory })

const declared = (...kernels: [name: string, signature: string][]): string =>
  declareKernels(kernels.map(([name, text]) => parseSignature(name, text, { source: 'library' }))).join('\n')

describe('declarations of a kernel', () => {
  test('have the doc, the signature, and optional attributes with their defaults', () => {
    const text = '(x: f32[n]) -> (y: s32[n]); t: f32 = 1, k: s64; mode?: enum("a", "b") -- Does */ it.'
    expect(declared(['f', text])).toBe(
      [
        'interface $Kernel1<Attributes> {',
        "  (x: TensorLike<'float32'>, attributes: Attributes, options?: Options<TensorLike<'int32'>>): Tensor<'int32'>",
        '  /** Calls the kernel on another thread. */',
        "  async(x: TensorLike<'float32'>, attributes: Attributes, options?: AsyncOptions<TensorLike<'int32'>>): Promise<Tensor<'int32'>>",
        '}',
        '',
        'interface $Attributes1 {',
        '  /** f32, 1 by default */',
        '  readonly t?: number',
        '  /** s64 */',
        '  readonly k: number | bigint',
        '  /** enum("a", "b") */',
        '  readonly mode?: "a" | "b"',
        '}',
        '',
        '/**',
        ' * Does *\\/ it.',
        ' *',
        ' * (x: f32[n]) -> (y: s32[n]); t: f32 = 1, k: s64, mode?: enum("a", "b")',
        ' */',
        'export const f: $Kernel1<$Attributes1>',
      ].join('\n'),
    )
  })

  test('the first operand with a variable binds it, and every later use is NoInfer', () => {
    const text = declared([
      'f',
      '(t: token, a: T[n], b: U[n], c: T[n]) -> (y: T[n], z: U[n]); where T in f32|f64, U in s8|s16',
    ])
    expect(text).toContain(
      "  <T extends 'float32' | 'float64', U extends 'int8' | 'int16'>(a: TensorLike<T>, b: TensorLike<U>, " +
        'c: TensorLike<NoInfer<T>>, options?: Options<IntoResults<$Results1<NoInfer<T>, NoInfer<U>>>>): $Results1<T, U>\n',
    )
    expect(text).toContain("interface $Results1<T extends 'float32' | 'float64', U extends 'int8' | 'int16'> {")
  })

  test('operands may be omitted from the end, and a rest operand is an array', () => {
    const text = declared(['f', '(a: any[n], b?: f32[n]) -> (y: f32[n])'])
    expect(text).toContain("  (a: TensorLike, b: TensorLike<'float32'> | undefined, options?:")
    expect(text).toContain('  (a: TensorLike, options?:')
    expect(declared(['f', '(a: f32[n], ...more: f32[n]) -> (y: f32[n])'])).toContain(
      "  (a: TensorLike<'float32'>, more: readonly TensorLike<'float32'>[], options?:",
    )
  })

  test('options are required if the operands do not determine the results, and a kernel without results returns undefined', () => {
    expect(declared(['f', '(x: f32[n]) -> (y: f32[?]); a: f32 = 1'])).toContain(
      "attributes: Attributes | undefined, options: Options<TensorLike<'float32'>>",
    )
    expect(declared(['f', '(x: f32[n]) -> ()'])).toContain('options?: Options<never>): undefined')
  })

  test('kernels that differ in their names, shapes and docs share their types', () => {
    const text = declared(
      ['relu', '(x: f32[...]) -> (y: f32[...]) -- The positive part.'],
      ['sum', '(x: f32[..., n]) -> (y: f32[...])'],
      ['scale', '(x: f32[n]) -> (y: f32[n]); by: f32'],
      ['shift', '(x: f32[n, m]) -> (y: f32[n, m]); by: f32'],
      ['clip', '(x: f32[n]) -> (y: f32[n]); low: f32'],
      ['twice', '(x: f64[n]) -> (y: f64[n])'],
    )
    expect(text.match(/^(?:export const|interface) .*/gm)).toEqual([
      'interface $Kernel1 {',
      'export const relu: $Kernel1',
      'export const sum: $Kernel1',
      'interface $Kernel2<Attributes> {',
      'interface $Attributes1 {',
      'export const scale: $Kernel2<$Attributes1>',
      'export const shift: $Kernel2<$Attributes1>',
      'interface $Attributes2 {',
      'export const clip: $Kernel2<$Attributes2>',
      'interface $Kernel3 {',
      'export const twice: $Kernel3',
    ])
  })

  test('attributes of every type have a TypeScript type', () => {
    const types: readonly (readonly [string, string])[] = [
      ['pred', 'boolean'],
      ['u64', 'number | bigint'],
      ['c64', 'number | readonly [number, number]'],
      ['s64[]', 'readonly (number | bigint)[] | BigInt64Array'],
      ['f32[]', 'readonly number[] | Float32Array'],
      ['string', 'string'],
      ['bytes', 'Uint8Array | string'],
      ['pointer', 'Tensor | MemorySegment | bigint'],
      ['dtype', 'DType'],
      ['dictionary', 'AttributeDictionary'],
      ['{ a: f32, b?: string }', '{ readonly a: number; readonly b?: string }'],
    ]
    const text = declared(['f', `() -> (); ${types.map(([type], i) => `a${i}: ${type}`).join(', ')}`])
    types.forEach(([, type], i) => expect(text).toContain(`readonly a${i}: ${type}\n`))
  })

  test('names that JavaScript reserves are changed', () => {
    expect(declared(['f', '(class: f32[n], options: f32[n]) -> (y: f32[n])'])).toContain(
      "  (_class: TensorLike<'float32'>, options: TensorLike<'float32'>, options_?:",
    )
  })
})

describe('tenon types', () => {
  test('writes a module that opens its library at the first call', () => {
    expect(run('libkernels.so', '--output', 'kernels.js').stderr).toContain(
      'kernels.d.ts: written\nkernels.js: written\n',
    )
    expect(readFileSync(join(directory, 'kernels.js'), 'utf8')).toContain(
      "export const softmax = $called('softmax', $once(() => $library().kernel('softmax')))",
    )
    writeFileSync(
      join(directory, 'use.js'),
      `import { tensor } from 'tenon'
import { matmul, softmax, topk } from './kernels.js'
const x = tensor('f32', [1, 3], [1, 3, 2])
const { values, indices } = topk(x, { k: 2 })
const into = tensor('f32', [1, 3])
console.log(values.toArray(), indices.toArray(), softmax.name, (await softmax.async(x, { temperature: 1 }, { into })) === into)
console.log(matmul(x, tensor('f32', [3, 1], [1, 1, 1]), { into: tensor('f32', [1, 1]) }).toArray())
`,
    )
    expect(execFileSync(process.execPath, ['use.js'], { cwd: directory, encoding: 'utf8' })).toBe(
      '[ 3, 2 ] [ 1, 2 ] softmax true\n[ 6 ]\n',
    )
  })

  test('importing a module does not open the library', () => {
    run('libkernels.so', '--output', 'moved.js')
    const text = readFileSync(join(directory, 'moved.js'), 'utf8').replace('./libkernels.so', './absent.so')
    writeFileSync(join(directory, 'moved.js'), text)
    const code = "import { softmax } from './moved.js'; try { softmax() } catch (error) { console.log(error.code) }"
    const output = execFileSync(process.execPath, runtime.moduleArguments([], code), {
      cwd: directory,
      encoding: 'utf8',
    })
    expect(output).toBe('TENON_LOAD\n')
  })

  test('types packed functions by their signatures or their metadata, and names what it leaves out', () => {
    const { stdout, stderr } = run('libpacked.so')
    expect(stdout).toContain("  (x: TensorLike<'float32'>, options?:")
    expect(stdout).toContain('export const add_one: $Kernel')
    expect(stdout).toContain('export function sum(a0: number | bigint, a1: number | bigint): number\n')
    expect(stderr).toContain(
      'left out, because the library does not export them, pass --registered to look for registered handlers: ghost\n',
    )
    expect(run(kernelLibrary('kernels')).stderr).toContain('left out, because their signatures are not known: ')
  })

  test('--output writes TypeScript with the docs, which Node.js runs and --check compares', () => {
    expect(run('libkernels.so', '--output', 'typed.ts')).toMatchObject({ code: 0, stdout: '' })
    const text = readFileSync(join(directory, 'typed.ts'), 'utf8')
    expect(text).toMatch(/\n \* \(x: f32\[.*\n \*\/\nexport const softmax: typeof \$types\.softmax = /)
    const code = `import { softmax } from './typed.ts'; import { tensor } from 'tenon'
const x = tensor('f32', [1, 2], [0, 0])
console.log(softmax.name, softmax(x).toArray(), (await softmax.async(x, { temperature: 2 })).toArray())`
    writeFileSync(join(directory, 'typed-use.mts'), code)
    const output = execFileSync(process.execPath, ['--experimental-strip-types', '--no-warnings', 'typed-use.mts'], {
      cwd: directory,
      encoding: 'utf8',
    })
    expect(output).toBe('softmax [ 0.5, 0.5 ] [ 0.5, 0.5 ]\n')
    expect(run('libkernels.so', '--output', 'typed.ts', '--check').code).toBe(0)
    writeFileSync(join(directory, 'typed.ts'), text.replace('softmax', 'hardmax'))
    expect(run('libkernels.so', '--output', 'typed.ts', '--check').stderr).toContain('typed.ts is not what tenon types')
  })

  test('--json prints the declarations, the files, and what is left out', () => {
    const text = run('libpacked.so')
    const printed = run('libpacked.so', '--json')
    expect({ code: printed.code, stderr: printed.stderr }).toEqual({ code: 0, stderr: text.stderr })
    const left = { reason: expect.stringContaining('does not export them') as string, names: ['ghost'] }
    const document = { library: 'libpacked.so', declarations: text.stdout, left: [left], undeclared: [] }
    expect(JSON.parse(printed.stdout)).toEqual({ ...document, files: [] })
    const written = run('libpacked.so', '--json', '--output', 'documented.js')
    expect(JSON.parse(written.stdout)).toEqual({ ...document, files: ['documented.d.ts', 'documented.js'] })
    expect(readFileSync(join(directory, 'documented.d.ts'), 'utf8')).toBe(text.stdout)
  })

  test('--check exits with 1 if the files are not what would be written', () => {
    expect(run('libkernels.so', '--output', 'checked.js', '--check')).toMatchObject({ code: 1, stdout: '' })
    run('libkernels.so', '--output', 'checked.js')
    expect(run('libkernels.so', '--output', 'checked.js', '--check').code).toBe(0)
    writeFileSync(join(directory, 'checked.d.ts'), '')
    const { code, stderr } = run('libkernels.so', '--output', 'checked.js', '--check')
    expect(code).toBe(1)
    expect(stderr).toContain('checked.d.ts is not what tenon types writes for this library')
    expect(readFileSync(join(directory, 'checked.d.ts'), 'utf8')).toBe('')
  })

  test('does not load a library whose signatures are complete', () => {
    writeFileSync(
      join(directory, 'loads.c'),
      '#include <stdlib.h>\n#include <tenon/signature.h>\n__attribute__((constructor)) static void load(void) { abort(); }\n' +
        'void f(void) {}\nTN_SIGNATURE(f, "(x: f32[n]) -> (y: f32[n])");\nvoid delete(void) {}\nTN_SIGNATURE(delete, "() -> ()");\n',
    )
    const include = fileURLToPath(new URL('../../core/include', import.meta.url))
    const options = ['-shared', '-fPIC', '-I', include, '-o', 'loads.so', 'loads.c']
    execFileSync(process.env['CC'] ?? 'cc', options, { cwd: directory })
    const { stdout, stderr } = run('loads.so')
    expect(stdout).toContain('export const f: $Kernel1')
    expect(stderr).toBe('left out, because the names cannot be exported from a module: delete\n')
    expect(run('loads.so', '--registered').code).not.toBe(0)
  })
})

describe('the compiler accepts declarations', () => {
  const project = (): string => join(directory, 'project')
  beforeAll(() => writeProject(project(), 3, 'alike'))

  test.each([
    { module: 'nodenext', skipLibCheck: true },
    { module: 'nodenext', skipLibCheck: false },
    { module: 'bundler', skipLibCheck: true },
    { module: 'bundler', skipLibCheck: false },
  ] as const)('without diagnostics with %j', (options) => {
    expect(checkProject(project(), compiler, options)).toBe('')
  })

  test('wrong element types, attributes and results are errors, and correct calls are not', () => {
    const head =
      "import type { Tensor } from 'tenon'\nimport * as k from './kernels.js'\ndeclare const x: Tensor<'float32'>\n"
    const correct = [
      'k.matmul_0(x, x)',
      'await k.softmax_0.async(x, {}, { signal: new AbortController().signal })',
      'k.softmax_0({ data: new Float32Array(4), dims: [2, 2] }, {}, { into: new Float32Array(4) })',
      'k.softmax_0({ data: new Float32Array(4), shape: [2, 2], stride: [2, 1], offset: 0 }).view().length',
    ]
    const wrong = [
      'k.matmul_0(x, d)',
      'k.softmax_0(d)',
      'k.softmax_0(new Float64Array(4))',
      'k.softmax_0(x, { temprature: 1 })',
      'k.topk_0(x)',
      'k.softmax_0(x, {}, { into: d })',
      "k.gather_0(d, x as never, [], { mode: 'no' })",
    ]
    const other = join(directory, 'wrong')
    writeProject(other, 1, 'alike')
    const values = [...correct, ...wrong].map((value, i) => `export const y${i} = ${value}\n`)
    writeFileSync(join(other, 'use.ts'), `${head}declare const d: Tensor<'float64'>\n${values.join('')}`)
    const output = checkProject(other, compiler)
    const firstLine = 5 + correct.length
    const lines = [...output.matchAll(/^use\.ts\((\d+),\d+\): error TS/gm)].map(([, line]) => Number(line))
    expect([...new Set(lines)]).toEqual(wrong.map((_, i) => firstLine + i))
    expect(output.split('\n').find((line) => line.startsWith(`use.ts(${firstLine + 1},`))).toContain('error TS2345')
  })
})
