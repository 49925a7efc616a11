import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { hostPlatformName } from '@tenon/binary'
import { type Model, readModel, writeModule } from '@tenon/bind'
import { LoadError, UnsupportedError } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon } from '../run-tenon.ts'

const here = dirname(fileURLToPath(import.meta.url))
// In the package, so that the module finds tenon.
const directory = mkdtempSync(join(here, 'platforms-'))
afterAll(() => rmSync(directory, { recursive: true }))

const header = join(here, 'platforms.h')
const library = './libwords.so'

// oxlint-disable-next-line typescript/no-explicit-any -- the module does not exist when this file is compiled
type Bound = Record<string, any>

/** Models as two platforms would give them. */
let narrow: Model
let wide: Model
beforeAll(async () => {
  narrow = await readModel([header])
  wide = await readModel([header], { flags: ['-DWIDE'] })
})

/** The module of the narrow model for one platform, and of the wide model for another. */
async function load(narrowTarget: string, wideTarget: string, flags: readonly string[]): Promise<Bound> {
  const path = join(directory, `${narrowTarget} ${wideTarget}`)
  mkdirSync(path)
  execFileSync('cc', ['-shared', '-fPIC', ...flags, '-o', join(path, library), join(here, 'platforms.c')])
  const models = [
    { ...narrow, target: narrowTarget },
    { ...wide, target: wideTarget },
  ] as const
  const files = writeModule(models, {
    libraries: { [narrowTarget]: [library], [wideTarget]: [library] },
    from: 'tenon',
  })
  writeFileSync(join(path, 'index.js'), files.code)
  writeFileSync(join(path, 'index.d.ts'), files.declarations)
  return (await import(pathToFileURL(join(path, 'index.js')).href)) as Bound
}

const host = hostPlatformName()

describe('a module for several platforms has the layouts, types and values of the one that loads it', () => {
  test('which is the first', async () => {
    using scope = NativeScope.ofConfined()
    const bound = await load(host, 'other-cpu', [])
    expect([bound['NAME'], bound['WORD_SIZE'], bound['SAME'], bound['ONLY_NARROW']]).toEqual(['narrow', 4, 5, 1])
    expect(bound['pair'].byteSize).toBe(8)
    expect(bound['add_words'](1, 2, 'x', (a: number) => a * 10)).toBe(14)
    const pair = bound['make_pair'](scope, 3, -4)
    expect([pair.first, pair.second]).toEqual([3, -4])
    expect(bound['start'].value).toBe(7)
  })

  test('which is the second', async () => {
    using scope = NativeScope.ofConfined()
    const bound = await load('other-cpu', host, ['-DWIDE'])
    expect([bound['NAME'], bound['WORD_SIZE'], bound['SAME'], bound['ONLY_NARROW']]).toEqual(['wide', 8, 5, undefined])
    expect(bound['pair'].byteSize).toBe(16)
    expect(bound['add_words'](1n, 2n ** 40n, null, null)).toBe(2n ** 40n + 1n)
    const pair = bound['make_pair'](scope, 3, 2n ** 50n)
    expect([pair.first, pair.second]).toEqual([3, 2n ** 50n])
    expect(bound['start'].value).toBe(7n)
    expect(() => bound['only_narrow'](1)).toThrow(LoadError)
  })

  test('and is refused when it is loaded on any other', async () => {
    await expect(load('other-cpu', 'another-cpu', [])).rejects.toThrow(UnsupportedError)
    await expect(load('a-cpu', 'b-cpu', [])).rejects.toThrow(`written for a-cpu, b-cpu, got ${host}`)
    const same = [narrow, narrow] as const
    expect(() => writeModule(same, { libraries: [] })).toThrow('must be for different platforms')
  })
})

test('a declaration that is the same for all is written once', () => {
  const { code } = writeModule(
    [
      { ...narrow, target: 'a' },
      { ...wide, target: 'b' },
    ],
    { libraries: [] },
  )
  expect(code.match(/class same/g)).toHaveLength(1)
  expect(code.match(/function next_color/g)).toHaveLength(1)
  expect(code).toContain("export const WORD_SIZE = library.choose({\n  'a': () => 4,\n  'b': () => 8,\n})")
  const { code: one } = writeModule(
    [
      { ...narrow, target: 'a' },
      { ...narrow, target: 'b' },
    ],
    { libraries: [] },
  )
  expect(one).not.toContain('choose')
})

test('types have what all platforms have in common', () => {
  const use = join(directory, 'use.ts')
  const path = join(directory, 'typed')
  mkdirSync(path)
  const models = [
    { ...narrow, target: host },
    { ...wide, target: 'other-cpu' },
  ] as const
  const { code, declarations } = writeModule(models, { libraries: [], from: 'tenon' })
  writeFileSync(join(path, 'index.js'), code)
  writeFileSync(join(path, 'index.d.ts'), declarations)
  expect(declarations).toContain('/** The size of a word. */\nexport declare const WORD_SIZE: 4 | 8')
  expect(declarations).toContain('export declare const ONLY_NARROW: 1 | undefined')
  expect(readFileSync(join(path, 'index.d.ts'), 'utf8')).toContain('/** Adds words. */')
  writeFileSync(
    use,
    `import { NativeScope } from 'tenon/scope'
     import * as bound from './typed/index.js'
     using scope = NativeScope.ofConfined()
     const size: 4 | 8 = bound.WORD_SIZE
     const sum: number | bigint = bound.add_words(1, 2, 'x', (a) => Number(a))
     const pair: bound.pair = bound.make_pair(scope, 1, 2)
     const second: number | bigint = pair.second
     pair.second = 5
     const color: bound.color = bound.next_color(bound.RED)
     // @ts-expect-error a sum may be a bigint
     const wrong: number = bound.add_words(1, 2, null, null)
     // @ts-expect-error a text is not a word
     bound.add_words('1', 2, null, null)
     export { size, sum, second, color, wrong }
    `,
  )
  const tsc = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url))
  const flags =
    '--noEmit --ignoreConfig --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --skipLibCheck false --module nodenext --target esnext'
  const { stdout, status } = spawnSync(process.execPath, [tsc, ...flags.split(' '), '--types', 'node', use], {
    cwd: directory,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

describe('tenon bind --target', () => {
  test('binds for this platform with its compiler, and takes a library for each', () => {
    const path = join(directory, 'command')
    mkdirSync(path)
    execFileSync('cc', ['-shared', '-fPIC', '-o', join(path, library), join(here, 'platforms.c')])
    const args = ['--library', `${host}=${join(path, library)}`, '--library', 'beos=libno.so']
    const { code, stderr } = runTenon(['bind', header, '--target', host, ...args, '--output', path])
    expect([code, stderr]).toEqual([0, expect.stringContaining('3 functions')])
    const program = join(directory, 'program.mjs')
    writeFileSync(
      program,
      `import { NAME, add_words } from './command/index.js'\nconsole.log(NAME, add_words(1, 2, null, null))`,
    )
    expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('narrow 3\n')
  })

  test('refuses the name of another platform, and says what to install for those that need it', () => {
    const other = runTenon(['bind', header, '--target', 'beos', '--report'])
    expect([other.code, other.stderr]).toEqual([1, expect.stringMatching(/must be one of linux-x64-gnu, .*got beos/)])
    const target = host === 'win32-x64' ? 'darwin-arm64' : 'win32-x64'
    const environment = { TENON_ZIG: '/no/zig' }
    const missing = runTenon(['bind', header, '--target', target, '--report'], { environment })
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('TENON_ZIG=/no/zig')])
  })
})
