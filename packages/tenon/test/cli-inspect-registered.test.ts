import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon, type Finished } from './run-tenon.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-inspect-registered-'))
  const include = ['-I', pathOf('../../core/include')]
  compile('libshapes.so', pathOf('fixtures/registered.c'), ...include)
  // The same library as C++ users link it, with a library of tvm-ffi that is not there, and with a symbol that it lacks.
  writeFileSync(join(directory, 'empty.c'), 'int TVMFFIOfTheFuture(void) { return 0; }\n')
  compile('libtvm_ffi.so', 'empty.c', '-Wl,-soname,libtvm_ffi.so')
  compile('liblinked.so', pathOf('fixtures/registered.c'), ...include, '-L.', '-Wl,--no-as-needed', '-ltvm_ffi')
  const future = 'int TVMFFIOfTheFuture(void);\nint use(void) { return TVMFFIOfTheFuture(); }\n'
  writeFileSync(join(directory, 'future.c'), future)
  compile('libfuture.so', 'future.c', '-L.', '-ltvm_ffi')
  rmSync(join(directory, 'libtvm_ffi.so'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const compile = (output: string, ...args: string[]): Buffer =>
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', output, ...args], { cwd: directory })
const run = (...args: string[]): Finished => runTenon(['inspect', ...args], { cwd: directory })

describe('tenon inspect of a library that registers types', () => {
  test('does not load it, and says how to see them', () => {
    const { code, stdout } = run('libshapes.so')
    expect(code).toBe(0)
    expect(stdout).toContain('registers types and functions when it is loaded: see them with --registered\n')
    expect(stdout).not.toContain('shapes.Point')
  })

  test('lists types, members and functions with --registered', () => {
    const { code, stdout } = run('libshapes.so', '--registered')
    expect(code).toBe(0)
    expect(stdout).not.toContain('see them with --registered')
    expect(stdout).toContain('\nregistered types (9)\n')
    expect(stdout).toMatch(/\n {2}shapes\.Point {2}A point\.\n {4}x_position +number \| bigint +A number\./)
    expect(stdout).toMatch(/\n {4}static of +\(number \| bigint\) => NativeObject +Does it\.\n/)
    expect(stdout).toMatch(/\n {2}shapes\.Circle, extends shapes\.Point\n {4}radius +number \| bigint, read-only/)
    expect(stdout).toContain('\n  shapes.Sealed, no constructor\n')
    expect(stdout).toContain('\nregistered functions (7)\n')
    expect(stdout).toMatch(/\n {2}shapes\.sum +\(shapes\.Point, number \| bigint \| null\) => number\n/)
  })

  test('prints them with --json', () => {
    const { registered } = JSON.parse(run('libshapes.so', '--registered', '--json').stdout) as {
      registered: { types: { key: string; constructable: unknown }[]; functions: { name: string }[] }
    }
    expect(registered.types.map(({ key }) => key)).toContain('shapes.Circle')
    expect(registered.types.find(({ key }) => key === 'shapes.Point')!.constructable).toBe('fields')
    expect(registered.functions.map(({ name }) => name)).toContain('shapes.sum')
    expect(JSON.parse(run('libshapes.so', '--json').stdout)).not.toHaveProperty('registered')
  })
})

if (process.platform === 'linux')
  describe('a library of tvm-ffi that Tenon provides', () => {
    test('is not missing', () => {
      const { stdout } = run('liblinked.so')
      expect(stdout).toContain('  provided   libtvm_ffi.so (provided by Tenon)\n')
      expect(stdout).not.toContain('missing')
      expect(run('liblinked.so', '--needed').stdout.split('\n')).toContain('libtvm_ffi.so\tprovided')
      const report = JSON.parse(run('liblinked.so', '--json').stdout) as Record<string, unknown>
      expect(report).toMatchObject({ missing: [], provided: [{ name: 'libtvm_ffi.so', lacking: [] }] })
    })

    test('is reported without the functions that it lacks', () => {
      expect(run('libfuture.so').stdout).toContain(
        '  provided   libtvm_ffi.so (provided by Tenon, without 1 function it needs)\n',
      )
      const report = JSON.parse(run('libfuture.so', '--json').stdout) as Record<string, unknown>
      expect(report).toMatchObject({ missing: [], provided: [{ lacking: ['TVMFFIOfTheFuture'] }] })
    })
  })
