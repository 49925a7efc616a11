import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNpy, writeNpy } from '../src/index.ts'
import { runTenon, type Finished } from './run-tenon.ts'

const packed = kernelLibrary('packed')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-packed-'))
  writeNpy(join(directory, 'x.npy'), tensor('f32', [3], [1, 2, 3]))
})
afterAll(() => rmSync(directory, { recursive: true }))

const run = (...args: string[]): Finished => runTenon(args, { cwd: directory })
const done = (stdout: string, stderr = ''): Finished => ({ code: 0, stdout, stderr })

describe('tenon call on packed functions', () => {
  test.each(['packed', 'packed_legacy_llvm'])('add_one of %s writes its result', (name) => {
    const library = kernelLibrary(name)
    expect(run('call', library, 'add_one', '--arg', 'x.npy', '--result', 'f32[3]')).toEqual(done('[2. 3. 4.]\n'))
    expect(run('call', library, 'add_one', '--arg', 'x.npy', '--result', 'f32[3]:y.npy')).toEqual(
      done('', 'y.npy: float32[3]\n'),
    )
    expect(readNpy(join(directory, 'y.npy')).toArray()).toEqual([2, 3, 4])
  })

  test.each([
    [['int:1', 'int:-2', 'bool:true'], '0'],
    [['float:1.5', 'int:2'], '3.5'],
    [['float:inf'], 'Infinity'],
    [['int:9007199254740993'], '9007199254740993'],
  ])('sum of %j is %s', (values, text) => {
    expect(run('call', packed, 'sum', ...values.flatMap((value) => ['--arg', value]))).toEqual(done(`${text}\n`))
  })

  test.each([
    ['str:some text', 'some text\n'],
    ['str:', '\n'],
    ['none', ''],
    ['x.npy', '[1. 2. 3.]\n'],
  ])('echo of %s prints it', (value, text) => {
    expect(run('call', packed, 'echo', '--arg', value)).toEqual(done(text))
  })

  test('--json prints one document, with the timing of --repeat', () => {
    const { stdout } = run('call', packed, 'make_range', '--arg', 'int:3', '--json', '--repeat', '10')
    expect(JSON.parse(stdout)).toMatchObject({
      symbol: 'make_range',
      convention: 'packed',
      generation: 'tvm-ffi',
      value: { type: 'float32[3]', values: [0, 1, 2] },
      results: [],
      timing: { runs: 10 },
    })
  })

  test.each<[string[], number, string]>([
    [['sum', '--arg', 'str:x'], 1, 'sum takes numbers'],
    [['fail_as', '--arg', 'str:KeyError'], 3, 'failed as asked'],
    [['sum', '--arg', 'int:1.5'], 2, '--arg int:1.5: the value must be of type int, got 1.5'],
    [['sum', '--arg', 'float:'], 2, 'the value must be of type float, got nothing'],
    [['sum', '--arg', 'absent.npy'], 1, 'no such file'],
    [['sum', '--attr', 'eps=f32:1'], 2, 'does not accept --attr'],
    [['sum', '--opaque', 'x'], 2, 'does not accept --opaque'],
    [['sum', '--allow-newer-api'], 2, 'does not accept --allow-newer-api'],
    [['sum', '--alias', '0=0'], 2, 'does not accept --alias'],
    [['summ', '--abi', 'packed'], 1, 'does not export a packed function named "summ"'],
    [['summ'], 1, 'does not export a packed function named "summ"'],
  ])('refuses %j', (args, code, sentence) => {
    const finished = run('call', packed, ...args)
    expect({ code: finished.code, stdout: finished.stdout }).toEqual({ code, stdout: '' })
    expect(finished.stderr).toContain(sentence)
  })

  if (process.platform === 'linux')
    test('exits with 1 if the library cannot be loaded', () => {
      const broken = join(directory, 'libbroken.so')
      const source = join(directory, 'broken.c')
      writeFileSync(source, 'int gone(void);\nint __tvm_ffi_f(void) { return gone(); }\n')
      execFileSync('cc', ['-shared', '-fPIC', '-Wl,-z,now', '-o', broken, source])
      const finished = run('call', broken, 'f')
      expect(finished.code).toBe(1)
      expect(finished.stderr).toContain('undefined symbol: gone')
    })
})

describe('tenon inspect on packed functions', () => {
  test.each([
    ['packed', 'tvm-ffi', 'sum'],
    ['packed_tvm_022', 'tvm-ffi, TVM 0.22 to 0.25', 'square_neighbours'],
    ['packed_tvm_026', 'tvm-ffi, TVM 0.26 or newer', 'square_neighbours'],
    ['packed_tvm_021', 'TVM 0.21', 'square_neighbours_021'],
    ['packed_legacy_llvm', 'TVM to 0.20', 'add_one'],
    ['packed_legacy_c', 'TVM to 0.20', 'length_of_text'],
  ])('reports that %s is of %s', (name, generation, symbol) => {
    const { stdout } = run('inspect', kernelLibrary(name))
    expect(stdout).toContain(`\npacked functions (${generation})\n`)
    expect(stdout).toContain(`\n  ${symbol}\n`)
    expect(stdout).not.toMatch(/\n {2}_/)
    const report = JSON.parse(run('inspect', kernelLibrary(name), '--json').stdout) as Record<string, unknown>
    expect(report).toMatchObject({ packedGeneration: generation })
    const convention = name.includes('legacy') ? 'legacy' : 'packed'
    expect(report['kernels']).toContainEqual(expect.objectContaining({ name: symbol, convention }))
  })
})

describe('tenon types', () => {
  test('prints declarations', () => {
    const { code, stdout, stderr } = run('types', packed)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain("import type { Argument, Value } from 'tenon/packed-func'\n")
    expect(stdout).toContain(
      '\n/** The sum of its numbers. */\nexport function sum(a0: number | bigint, a1: number | bigint): number\n',
    )
    expect(stdout).toContain('\nexport function echo(...values: Argument[]): Value\n')
  })

  test('writes a module that runs and passes the type check', () => {
    // As in a project that has installed the package.
    mkdirSync(join(directory, 'node_modules'))
    symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
    const { code, stdout, stderr } = run('types', packed, '--output', 'kernels.js')
    expect({ code, stdout, stderr }).toEqual(done('', 'kernels.d.ts: written\nkernels.js: written\n'))
    expect(readFileSync(join(directory, 'kernels.d.ts'), 'utf8')).toBe(run('types', packed).stdout)
    const program = "import { echo, sum } from './kernels.js'\nconsole.log(sum(1, 2), echo('text'))\n"
    writeFileSync(
      join(directory, 'use.mjs'),
      `${program}try { sum(1, 'x') } catch (error) { console.log(error.sentence) }\n`,
    )
    expect(execFileSync(process.execPath, ['use.mjs'], { cwd: directory, encoding: 'utf8' })).toBe(
      '3 text\nMismatched type on argument #1 when calling: `sum(0: int, 1: int) -> float`. Expected `int` but got `str`\n',
    )
    const check = (text: string): string => {
      writeFileSync(join(directory, 'use.ts'), text)
      const tsc = join(fileURLToPath(new URL('../../..', import.meta.url)), 'node_modules', '.bin', 'tsc')
      try {
        const options = [
          '--noEmit',
          '--skipLibCheck',
          '--strict',
          '--module',
          'nodenext',
          '--target',
          'es2024',
          '--types',
          '',
        ]
        return execFileSync(tsc, [...options, 'use.ts'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' })
      } catch (error) {
        return (error as { stdout: string }).stdout
      }
    }
    expect(check("import { sum } from './kernels.js'\nexport const x: number = sum(1, 2n)\n")).toBe('')
    expect(check("import { sum } from './kernels.js'\nexport const x = sum(1, 'x')\n")).toContain('TS2345')
  })

  test.each<[string[], number, string]>([
    [[kernelLibrary('kernels_cpp')], 1, 'does not describe its kernels'],
    [[packed, '--output', 'kernels.txt'], 2, 'must end in .js, .mjs, .ts, .mts or .d.ts'],
    [['absent.so'], 1, 'no such file'],
  ])('refuses %j', (args, code, sentence) => {
    const finished = run('types', ...args)
    expect({ code: finished.code, stdout: finished.stdout }).toEqual({ code, stdout: '' })
    expect(finished.stderr).toContain(sentence)
  })
})
