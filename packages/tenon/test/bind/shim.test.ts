import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { LoadError } from '@tenon/core'
import { readModel, writeModule } from '@tenon/bind'
import { isSanitized } from '@tenon/config/sanitizer'
import { NativeScope } from '@tenon/scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon } from '../run-tenon.ts'

const here = dirname(fileURLToPath(import.meta.url))
// In the package, so that the module finds tenon.
const directory = mkdtempSync(join(here, 'shim-'))
afterAll(() => rmSync(directory, { recursive: true }))

const header = join(here, 'shim.h')
const library = join(directory, 'lib', 'libshimmed.so')
const output = join(directory, 'bound')
const shimName = `shim-${process.platform}-${process.arch}.so`

// oxlint-disable-next-line typescript/no-explicit-any -- the module does not exist when this file is compiled
type Bound = Record<string, any>
const load = async (path: string): Promise<Bound> => (await import(pathToFileURL(join(path, 'index.js')).href)) as Bound
let bound: Bound

const bind = (...args: string[]): ReturnType<typeof runTenon> =>
  runTenon(['bind', header, '--library', library, ...args])

beforeAll(async () => {
  mkdirSync(dirname(library))
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', library, join(here, 'shim.c')])
  const { code, stderr } = bind('--output', output, '--shim')
  expect(stderr).toMatch(/^18 functions, 3 structs, 1 variable in \d+\.\d s; \d+ not bound/m)
  expect(code).toBe(0)
  bound = await load(output)
})

describe('a shim has', () => {
  test('inline functions, also behind a macro with their name', () => {
    using scope = NativeScope.ofConfined()
    expect(bound['twice'](21)).toBe(42)
    expect(bound['name_of']('abc')).toBe('bc')
    expect(bound['name_of']('')).toBe(null)
    expect(bound['apply']((value: number) => value + 1, null)).toBe(26)
    const pair = bound['pair'].allocate(scope)
    pair.a = 3
    pair.b = 1.5
    const mirrored = bound['mirror'](scope, pair)
    expect([mirrored.a, mirrored.b]).toEqual([-3, -1.5])
  })

  test('macros that are known at run time only', () => {
    expect([bound['LEVEL'](), bound['TITLE'](), bound['RATIO']()]).toEqual([5, 'low', 1.25])
    expect(bound['PLACE']().reinterpret(4).getInt32(0)).toBe(5)
    expect(typeof bound['LAST_ERROR']()).toBe('number')
    bound['set_level'](8)
    expect([bound['LEVEL'](), bound['TITLE'](), bound['RATIO'](), bound['library_level'].value]).toEqual([
      8,
      'high',
      2,
      8,
    ])
    bound['set_level'](5)
  })

  test('functions with values that no call can pass, through pointers', () => {
    using scope = NativeScope.ofConfined()
    const [flags, swapped] = [bound['flags'].allocate(scope), bound['flags'].allocate(scope)]
    flags.low = 3
    flags.high = 9
    bound['swap'](swapped, flags, 2)
    expect([swapped.low, swapped.high]).toEqual([9, 5])
    const [z, turned] = [Float32Array.of(2, 1), new Float32Array(2)]
    bound['turn'](turned, z)
    expect([...turned]).toEqual([-1, 2])
    const [wide, scaled] = [scope.allocate(16, 16), scope.allocate(16, 16)]
    bound['widen'](wide, 1.5)
    bound['scale'](scaled, wide, 8)
    expect(bound['narrow'](scaled)).toBe(12)
  })

  test('no function with a union by value, which the library itself has', () => {
    using scope = NativeScope.ofConfined()
    const from = bound['number_'].allocate(scope)
    from.whole = 7n
    expect(bound['convert'](scope, from).real).toBe(7)
  })

  test('the comments of what it calls', () => {
    const declarations = readFileSync(join(output, 'index.d.ts'), 'utf8')
    expect(declarations).toContain('/** Twice a number. */\nexport declare function twice(x: number): number')
    expect(declarations).toContain('/** The level of the library. */\nexport declare function LEVEL(): number')
    expect(declarations).toContain(
      "export declare function swap(result: flags | Pointer<'flags'> | null, f: flags | Pointer<'flags'> | null, times: number): void",
    )
  })

  test('macros with parameters whose types are given', async () => {
    const path = join(directory, 'macros')
    const options = { libraries: [], shim: { libraries: [] }, include: ['READ_U16', 'CLEAR'] }
    const macros = { READ_U16: '(const void *) -> uint16_t', CLEAR: '(int *) -> int' }
    const model = await readModel([header], { ...options, macros })
    expect(model.functions.map(({ name }) => name)).toEqual(['READ_U16', 'CLEAR'])
    const files = writeModule(model, { libraries: [], from: 'tenon' })
    mkdirSync(path)
    writeFileSync(join(path, 'index.js'), files.code)
    for (const { name, bytes } of files.shims) writeFileSync(join(path, name), bytes)
    const module = await load(path)
    expect(module['READ_U16'](Uint8Array.of(1, 2))).toBe(258)
    const values = Int32Array.of(5)
    expect([module['CLEAR'](values), values[0]]).toEqual([0, 0])
    await expect(readModel([header], { ...options, macros: { READ_U16: 'uint16_t' } })).rejects.toThrow(
      'the types of the macro READ_U16 must be like "(const void *, int) -> uint32_t", got "uint16_t"',
    )
    await expect(readModel([header], { ...options, macros: { LEVEL: '() -> int' } })).rejects.toThrow(
      'the headers must define the macro LEVEL with parameters',
    )
    await expect(readModel([header], { ...options, macros: { CLEAR: '(no_such *) -> int' } })).rejects.toThrow(
      /tenon_declarations:1:.*no_such/,
    )
  })
})

test('annotations state the types of macros with parameters', () => {
  const annotations = join(directory, 'macros.json')
  writeFileSync(annotations, JSON.stringify({ tenon: 1, macros: { READ_U16: '(const void *) -> uint16_t' } }))
  const path = join(directory, 'annotated')
  expect(bind('--annotations', annotations, '--shim', '--output', path).code).toBe(0)
  const program = join(directory, 'annotated.mjs')
  writeFileSync(program, `import { READ_U16 } from './annotated/index.js'\nconsole.log(READ_U16(Uint8Array.of(1, 2)))`)
  expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('258\n')
  expect(bind('--annotations', annotations, '--report').stdout).toMatch(/READ_U16: function-like macro: needs --shim$/m)
})

test('what a shim cannot have is reported with the reason, and without --shim so is what it can have', () => {
  const report = bind('--shim', '--report').stdout
  expect(report).toMatch(/^shim\.h:17 gone: not exported: by libshimmed\.so$/m)
  expect(report).toMatch(/^shim\.h:27 needs_gone: not in the shim: no library exports gone$/m)
  expect(report).toMatch(/^shim\.h:37 BROKEN: not in the shim: no library exports gone$/m)
  expect(report).toMatch(/^shim\.h:16 sum_wide: type cannot be passed: takes long double$/m)
  expect(report).toMatch(/^shim\.h:38 READ_U16: function-like macro: annotate its types$/m)
  const without = bind('--report').stdout
  expect(without).toMatch(/^shim\.h:21 twice: inline function: needs --shim$/m)
  expect(without).toMatch(
    /^shim\.h:13 swap: type cannot be passed: returns the struct flags with bit-fields by value, needs --shim$/m,
  )
  expect(without).toMatch(/^shim\.h:32 LEVEL: known at run time only: needs --shim$/m)
})

describe('a module', () => {
  const moved = join(directory, 'moved')

  test('finds its library through the shim by the place of both, in a program of its own', () => {
    cpSync(output, moved, { recursive: true })
    const program = join(directory, 'first.mjs')
    writeFileSync(program, `import { apply } from './bound/index.js'\nconsole.log(apply((x) => x, null))`)
    expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('25\n')
  })

  test('refuses the shim of other headers when it is first used', async () => {
    mkdirSync(join(directory, 'changed'))
    const other = join(directory, 'changed', 'shim.h')
    writeFileSync(other, `${readFileSync(header, 'utf8')}\nstruct another { int x; };\n`)
    const { code } = runTenon(['bind', other, '--library', library, '--shim', '--output', join(directory, 'other')])
    expect(code).toBe(0)
    cpSync(join(directory, 'other', shimName), join(moved, shimName))
    const stale = await load(moved)
    expect(() => stale['library_count']()).toThrow(LoadError)
    expect(() => stale['twice'](1)).toThrow(/must be compiled for this module[^]*tenon bind --shim again/)
    execFileSync('cc', ['-shared', '-o', join(moved, shimName), '-x', 'c', '/dev/null'])
    expect(() => stale['twice'](1)).toThrow(/a file for no module/)
    rmSync(join(moved, shimName))
    expect(() => stale['twice'](1)).toThrow(LoadError)
  })

  test('has the same hash for every compiler, and --check misses the file of the shim', () => {
    const others = ['gcc', 'clang'].filter((name) => spawnSync(name, ['--version']).status === 0)
    for (const compiler of others) {
      const environment = { CC: compiler }
      const args = ['bind', header, '--library', library, '--output', output, '--shim', '--check']
      expect(runTenon(args, { environment })).toMatchObject({ code: 0, stdout: '' })
    }
    const path = join(directory, 'unshimmed')
    cpSync(output, path, { recursive: true })
    rmSync(join(path, shimName))
    const { code, stderr } = bind('--shim', '--output', path, '--check')
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${shimName} of `)])
  })
})

// Node.js exports the functions of its copy of zlib. The sanitizer has an allocator of its own, which excludes what the loader does then.
if (
  process.platform === 'linux' &&
  !isSanitized &&
  'glibcVersionRuntime' in (process.report.getReport() as { header: object }).header
)
  test('a shim calls the functions of its library where Node.js has functions of the same name', async () => {
    const own = join(directory, 'own.h')
    writeFileSync(own, 'int zlibCompileFlags(void);\nstatic inline int flags(void) { return zlibCompileFlags(); }\n')
    writeFileSync(join(directory, 'own.c'), 'int zlibCompileFlags(void) { return 41; }\n')
    const path = join(directory, 'libown.so')
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', path, join(directory, 'own.c')])
    const args = ['bind', own, '--library', path, '--shim', '--output', join(directory, 'own')]
    expect(runTenon(args).code).toBe(0)
    const module = await load(join(directory, 'own'))
    expect([module['zlibCompileFlags'](), module['flags']()]).toEqual([41, 41])
  })
