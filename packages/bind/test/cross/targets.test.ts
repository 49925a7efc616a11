import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPlatform, hostPlatform, type PlatformName } from '@tenon/build'
import { findToolchain } from '@tenon/build/internal'
import { afterAll, describe, expect, test } from 'vitest'

import { assertionsOf } from '../../conformance/assertions.ts'
import { withCompiler } from '../../conformance/with-compiler.ts'
import { type Model, readModel, writeModule } from '../../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-targets-'))
afterAll(() => rmSync(directory, { recursive: true }))

const torture = fileURLToPath(new URL('../torture.h', import.meta.url))
const sqlite = '/usr/include/sqlite3.h'
const headers = [torture, ...(existsSync(sqlite) ? [sqlite] : [])]
const targets: readonly PlatformName[] = ['win32-x64', 'darwin-arm64', 'linux-arm64-gnu', 'linux-x64-musl']
const hasClang = spawnSync('clang', ['--version']).status === 0

/** clang's own name of a platform. Those of macOS have a version, without which it has no thread-local storage. */
const clangTarget = (target: PlatformName): string =>
  target === 'darwin-arm64' ? 'arm64-apple-macos11' : findPlatform(target).machine

/** The answers of the compiler: sizes, offsets and values. */
const answersOf = ({ records, constants, variables }: Model): unknown => ({
  records: records.map(({ c, layout }) => [
    c,
    layout && [layout.byteSize, layout.byteAlignment],
    layout?.members.map((member) =>
      member.kind === 'bits'
        ? [member.name, member.as, member.bitOffset, member.bitWidth]
        : [member.name, member.byteOffset],
    ),
  ]),
  constants: constants.map(({ name, constant }) => [name, constant]),
  variables: variables.map(({ name, byteSize }) => [name, byteSize]),
})

describe.each(targets)('%s', (target) => {
  test.each(headers)('every layout and constant of %s holds as a static assertion of zig', async (header) => {
    const model = await readModel([header], { target })
    const assertions = assertionsOf(model)
    expect(assertions.length).toBeGreaterThan(80)
    const source = join(directory, `${target}.c`)
    const compile = async (text: string): Promise<ReturnType<typeof spawnSync>> => {
      writeFileSync(source, `#include ${JSON.stringify(header)}\n${text}\n`)
      const toolchain = { variant: 'release', platform: findPlatform(target), portable: false, directory } as const
      const { command, args } = (await findToolchain(['c'], toolchain)).compilers.get('c')!
      return spawnSync(command, [...args, '-c', '-w', '-o', `${source}.o`, source], { encoding: 'utf8' })
    }
    expect(await compile(assertions.join('\n'))).toMatchObject({ stderr: '', status: 0 })
    const wrong = assertions.find((line) => line.includes('sizeof'))!.replace(/== \d+/, '== 12345')
    expect(await compile(wrong)).not.toMatchObject({ status: 0 })
  })

  if (hasClang)
    test.each(headers)('clang gives the same answers for %s', async (header) => {
      const clang = `clang --target=${clangTarget(target)} -ffreestanding`
      const model = await withCompiler(clang, () => readModel([header]))
      expect(answersOf(model)).toEqual(answersOf(await readModel([header], { target })))
    })

  test('a shim is compiled with what needs no library', async () => {
    const header = join(directory, 'inline.h')
    writeFileSync(
      header,
      `int outside(int);
       static inline long twice(long x) { return 2 * x; }
       static inline int more(int x) { return outside(x); }`,
    )
    const { functions, refused, shim } = await readModel([header], { target, shim: { libraries: [] } })
    expect(functions.map(({ name }) => name)).toEqual(['outside', 'twice'])
    expect(refused).toMatchObject([{ name: 'more', reason: 'not in the shim', detail: 'no library exports outside' }])
    const magic = { win32: 'MZ', darwin: '\xcf\xfa\xed\xfe', linux: '\x7fELF' }[findPlatform(target).os]
    expect(Buffer.from(shim!.bytes).toString('latin1').startsWith(magic)).toBe(true)
    expect(Buffer.from(shim!.bytes).includes(shim!.hash)).toBe(true)
  })
})

test('zig as the compiler of this machine gives the module of others', async () => {
  const header = join(directory, 'debug.h')
  // Names that belong to a compiler are not bound.
  const own = '#ifdef __x86_64__\n#include <immintrin.h>\n#endif\n#include <stdatomic.h>\n'
  writeFileSync(header, `${own}#ifdef _DEBUG\n#define MODE "debug"\n#else\n#define MODE "release"\n#endif\n`)
  const read = async (): Promise<unknown> => writeModule(await readModel([torture, header]), { libraries: [] })
  expect(await withCompiler(`${process.env['TENON_ZIG']} cc`, read)).toEqual(await read())
})

test('structs with bit-fields of different types have another layout on Windows', async () => {
  const [windows, linux] = await Promise.all(
    (['win32-x64', 'linux-x64-musl'] as const).map((target) => readModel([torture], { target })),
  )
  const placesOf = ({ records }: Model): Map<string, string> =>
    new Map(
      records.map(({ id, layout }) => [
        id,
        JSON.stringify([
          layout?.byteSize,
          layout?.members.map((one) => (one.kind === 'bits' ? one.bitOffset : one.byteOffset)),
        ]),
      ]),
    )
  const places = placesOf(linux!)
  const differing = [...placesOf(windows!)].filter(([id, text]) => places.get(id) !== text)
  expect(differing.map(([id]) => id)).toEqual(['bits_packed'])
})

test('a module for several platforms has the same bytes for each run', async () => {
  const read = async (): Promise<readonly [Model, ...Model[]]> =>
    [await readModel([torture], { target: targets[0]! }), await readModel([torture], { target: targets[1]! })] as const
  const [first, second] = [await read(), await read()]
  expect(writeModule(first, { libraries: [] })).toEqual(writeModule(second, { libraries: [] }))
  expect(writeModule(first, { libraries: [] }).code).not.toContain(hostPlatform.name)
})
