import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { tensor, writeNpy } from '../../src/index.ts'
import { runTenon, type Finished } from '../run-tenon.ts'
import { compileKernels } from './library.ts'

const path = compileKernels()
const directory = dirname(path)
const run = (command: string, ...args: string[]): Finished =>
  runTenon([command, 'libwords.so', ...args], { cwd: directory })

test('inspect does not load a library, and says how to see its operations', () => {
  const { code, stdout } = run('inspect')
  expect(code).toBe(0)
  expect(stdout).toContain('TensorFlow kernels (C API)')
  expect(stdout).toContain('--registered')
  expect(stdout).not.toContain('Decorate')
})

test('inspect --registered lists operations with their kernels and reasons', () => {
  const { code, stdout } = run('inspect', '--registered')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /\n {2}Decorate +tensorflow +library +\(text: string\[\.\.\.text\]\) -> \(decorated: string\[\.\.\.\]\); suffix: string = "!"/,
  )
  expect(stdout).toContain('CPU')
  expect(stdout).toContain('Plain')
  const all = runTenon(['inspect', kernelLibrary('tf_kernels'), '--registered'])
  expect(all.stdout).toMatch(/Variable.*resource/)
  expect(all.stdout).toMatch(/Relu.*MY_DEVICE/)
})

test('inspect --registered prints operations with --json', () => {
  const text = JSON.stringify(JSON.parse(run('inspect', '--registered', '--json').stdout))
  expect(text).toContain('"Decorate"')
})

test.each([[[]], [['--isolate']]])('call with the flags %j takes the lines of a file', (isolate) => {
  writeFileSync(join(directory, 'words.txt'), 'one\ntwo words\n')
  const { code, stdout, stderr } = run('call', 'Decorate', '--arg', 'text=words.txt@lines', '--suffix', '?', ...isolate)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe('one?\ntwo words?\n')
})

test('call takes strings of JSON with their shape, and writes them as JSON', () => {
  writeFileSync(join(directory, 'words.json'), '[["a", "b"], ["c", "ß"]]')
  const { code, stderr } = run('call', 'Decorate', '--arg', 'text=words.json@json', '--out', 'decorated=out.json@json')
  expect([code, stderr]).toEqual([0, 'out.json@json: string[2, 2]\n'])
  expect(JSON.parse(readFileSync(join(directory, 'out.json'), 'utf8'))).toEqual([
    ['a!', 'b!'],
    ['c!', 'ß!'],
  ])
})

test('call takes a type as an attribute', () => {
  writeNpy(join(directory, 'x.npy'), tensor('f32', [1], [1]))
  const { code, stdout, stderr } = runTenon(
    ['call', kernelLibrary('tf_kernels'), 'Reinterpret', '--arg', 'x=x.npy', '--type', 'uint16'],
    { cwd: directory },
  )
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('16256')
})

test('call shows the failure of a kernel and the attributes that an operation has', () => {
  const failed = run('call', 'Fail', '--arg', 'text=words.txt@lines')
  expect(failed.code).not.toBe(0)
  expect(failed.stderr).toContain('no words are left')
  const unknown = run('call', 'Decorate', '--arg', 'text=words.txt@lines', '--sufix', '?')
  expect(unknown.code).not.toBe(0)
  expect(unknown.stderr).toContain('--suffix')
})

test('types --registered declares operations that TypeScript accepts', () => {
  const { code, stderr } = run('types', '--registered', '--output', 'words.d.ts')
  expect([code, stderr]).toEqual([0, 'words.d.ts: written\n'])
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(fileURLToPath(new URL('../..', import.meta.url)), join(directory, 'node_modules/tenon'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  const declared = readFileSync(join(directory, 'words.d.ts'), 'utf8')
  expect(declared).toContain('Decorate')
  writeFileSync(
    join(directory, 'use.ts'),
    "import type * as words from './words.d.ts'\nexport type All = typeof words\n",
  )
  const compilerOptions = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: [] }
  const others = { customConditions: ['@tenon/source'], allowImportingTsExtensions: true, skipLibCheck: false }
  const project = { compilerOptions: { ...compilerOptions, ...others }, files: ['use.ts', 'words.d.ts'] }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(project))
  const compiler = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url))
  let errors = ''
  try {
    execFileSync(process.execPath, [compiler, '-p', '.'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    errors = (error as { stdout: string }).stdout
  }
  // The sources of the packages are not checked here.
  expect(errors.split('\n').filter((line) => /^(?:use|words)/.test(line))).toEqual([])
})
