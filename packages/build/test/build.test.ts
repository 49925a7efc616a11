import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { expect, test } from 'vitest'

import { buildPackage } from '../src/build.ts'
import { loadPackage } from '../src/load-package.ts'
import { hostPlatform, sharedLibraryName } from '../src/platform.ts'
import { runNativeTests } from '../src/run-tests.ts'
import type { NativePackage, NativeTarget } from '../src/targets.ts'
import { type Fixture, makePackage, runBin } from './fixture.ts'

const table: NativePackage = {
  targets: [
    { name: 'sum', kind: 'shared', sources: ['src/*.c'], includes: ['include'], imports: ['strlen'] },
    { name: 'use_sum', kind: 'test', sources: ['test/main.c'], includes: ['include'], uses: ['sum'] },
  ],
}

const files = {
  'include/sum.h': 'int sum(int a, int b);\n',
  'src/sum.c':
    '#include "sum.h"\n__attribute__((visibility("default"))) int sum(int a, int b) { return a + b; }\nint hidden(void);\nint hidden(void) { return 1; }\n',
  'src/version.c':
    '__attribute__((visibility("default"))) const char *version(void);\nconst char *version(void) { return TN_VERSION; }\n',
  'test/main.c':
    '#include <stdio.h>\n#include "sum.h"\nint main(void) { printf("1..1\\n# adds\\n%s - adds\\n", sum(1, 2) == 3 ? "ok" : "not ok"); return 0; }\n',
}

async function rebuilt(fixture: Fixture): Promise<string[]> {
  const artifacts = await buildPackage(await loadPackage(fixture.directory), {
    variant: 'release',
    kinds: ['shared', 'test'],
  })
  return artifacts.filter((artifact) => artifact.rebuilt).map((artifact) => artifact.target.name)
}

test('builds a library and a program that uses it, once', async () => {
  const fixture = makePackage(table, files)
  expect(await rebuilt(fixture)).toEqual(['sum', 'use_sum'])
  expect(existsSync(join(fixture.directory, 'build/release', sharedLibraryName('sum')))).toBe(true)
  expect(await rebuilt(fixture)).toEqual([])
})

test('rebuilds the files that depend on a changed source, header or library, and no others', async () => {
  const fixture = makePackage(table, files)
  await rebuilt(fixture)
  fixture.write('test/main.c', `${files['test/main.c']}/* changed */\n`)
  expect(await rebuilt(fixture)).toEqual(['use_sum'])
  fixture.write('include/sum.h', `${files['include/sum.h']}/* changed */\n`)
  expect(await rebuilt(fixture)).toEqual(['sum', 'use_sum'])
  fixture.write('package.json', JSON.stringify({ name: 'fixture', version: '1.2.4', type: 'module' }))
  expect(await rebuilt(fixture)).toEqual(['sum', 'use_sum'])
})

test('rebuilds a file that includes a header of a parent folder', async () => {
  const nested: NativePackage = {
    targets: [{ name: 'deep', kind: 'shared', sources: ['src/a/b/*.c'], imports: [] }],
  }
  const fixture = makePackage(nested, {
    'src/top.h': '#define X 1\n',
    'src/a/b/x.c': '#include "../../top.h"\nint x = X;\n',
  })
  expect(await rebuilt(fixture)).toEqual(['deep'])
  expect(await rebuilt(fixture)).toEqual([])
  fixture.write('src/top.h', '#define X 2\n')
  expect(await rebuilt(fixture)).toEqual(['deep'])
})

test('rebuilds an artifact that was deleted', async () => {
  const fixture = makePackage(table, files)
  await rebuilt(fixture)
  rmSync(join(fixture.directory, 'build/release', sharedLibraryName('sum')))
  expect(await rebuilt(fixture)).toEqual(['sum'])
})

test('treats a warning as an error and prints the message of the compiler', () => {
  const fixture = makePackage(table, { ...files, 'src/sum.c': 'int sum(int a, int b) { int unused; return a + b; }\n' })
  const { code, stderr } = runBin('build', fixture)
  expect(code).toBe(1)
  expect(stderr).toContain('fixture: src/sum.c did not build')
  expect(stderr).toContain('unused')
  expect(stderr).not.toContain('at runTool')
})

test('refuses a source glob that matches nothing', () => {
  const fixture = makePackage(table, { ...files })
  fixture.write('native.targets.ts', `export default ${JSON.stringify(table).replace('src/*.c', 'nowhere/*.c')}`)
  const { code, stderr } = runBin('build', fixture)
  expect(code).toBe(1)
  expect(stderr).toContain('sum: no source matches nowhere/*.c')
})

test('names the package to install if there is no compiler, without a stack trace', () => {
  const { code, stderr } = runBin('build', makePackage(table, files), [], { CC: 'no-such-compiler' })
  expect(code).toBe(1)
  expect(stderr).toContain('"no-such-compiler" could not be run (CC=no-such-compiler)')
  expect(stderr).toContain('Install one:')
  expect(stderr).not.toMatch(/^\s+at /m)
})

// MSVC's compiler refuses options of gcc, as this program does.
if (process.platform !== 'win32')
  test('refuses a compiler that is not like gcc or clang', () => {
    const { code, stderr } = runBin('build', makePackage(table, files), [], { CC: 'false' })
    expect(code).toBe(1)
    expect(stderr).toBe('false --version failed. CC must be gcc or clang:\n\n')
  })

test('takes a compiler with arguments from CC', () => {
  const { code, stdout } = runBin('build', makePackage(table, files), [], { CC: 'cc -DEXTRA=1' })
  expect({ code, stdout }).toEqual({ code: 0, stdout: `build/release/${sharedLibraryName('sum')}\n` })
})

test('builds the sanitizer variant, which stops at a use after free', () => {
  const useAfterFree =
    '#include <stdlib.h>\nint main(int n, char **a) { (void)a; char *volatile p = malloc(4); char *volatile q = p; free(p); return q[n]; }\n'
  const fixture = makePackage(
    { targets: [{ name: 'freed', kind: 'test', sources: ['main.c'] }] },
    { 'main.c': useAfterFree },
  )
  const { code, stdout } = runBin('test', fixture, [], { TENON_VARIANT: 'asan' })
  expect(code).toBe(1)
  expect(stdout).toContain('heap-use-after-free')
})

test.runIf(process.platform === 'linux')(
  'counts the lines of libraries and tests with coverage, not those of fixtures',
  async () => {
    const [sum, program] = table.targets as [NativeTarget, NativeTarget]
    const fixed = { name: 'fixed', kind: 'shared', fixture: true, sources: ['fixture/fixed.c'], imports: [] } as const
    const targets = [sum, fixed, { ...program, uses: ['sum', 'fixed'] } as NativeTarget]
    const fixture = makePackage({ targets }, { ...files, 'fixture/fixed.c': files['src/version.c'] })
    const pkg = await loadPackage(fixture.directory)
    expect(await runNativeTests(pkg, 'debug', { coverage: true })).toMatchObject({ passed: 1, failed: 0 })
    const counted = (): string[] => globSync('build/**/*.gcda', { cwd: fixture.directory }).toSorted()
    const objects = 'build/debug/objects'
    const expected = [`${objects}/sum/src/sum.c.gcda`, `${objects}/sum/src/version.c.gcda`]
    expect(counted()).toEqual([...expected, `${objects}/use_sum/test/main.c.gcda`])
    const library = join(fixture.directory, 'build/debug', sharedLibraryName('sum'))
    const symbols = execFileSync('nm', ['-D', '--defined-only', '--format=posix', library], { encoding: 'utf8' })
    expect(symbols.match(/^\w+(?= T)/gm)?.toSorted()).toEqual(['sum', 'version'])

    for (const file of counted()) rmSync(join(fixture.directory, file))
    expect(await runNativeTests(pkg, 'debug')).toMatchObject({ passed: 1, failed: 0 })
    expect(counted()).toEqual([])
  },
)

test('refuses an unknown variant and an unknown option', () => {
  const fixture = makePackage(table, files)
  expect(runBin('build', fixture, ['--variant', 'fast']).stderr).toContain(
    'the variant must be one of release, debug, fast-math, asan, tsan, fuzz, libfuzzer, got fast',
  )
  expect(runBin('build', fixture, ['--fast']).stderr).toContain("Unknown option '--fast'")
})

test('refuses a table that is not valid', async () => {
  const sum = table.targets[0]!
  const cases: [NativePackage, string][] = [
    [{ targets: [sum, sum] }, 'two targets have the name sum'],
    [{ targets: [table.targets[1]!] }, 'use_sum uses sum, which must be an earlier shared target'],
    [{ targets: [{ name: 'sum', kind: 'shared', sources: [] } as never] }, 'sum must have imports'],
  ]
  for (const [native, message] of cases) {
    await expect(loadPackage(makePackage(native, files).directory)).rejects.toThrow(message)
  }
})

test('fills the platform package with the libraries and their sums', () => {
  const platform = hostPlatform.name
  const fixture = makePackage(
    { ...table, platformPackages: 'npm' },
    { ...files, [`npm/${platform}/package.json`]: '{}' },
  )
  fixture.write(`npm/${platform}/lib/stale.so`, '')
  expect(runBin('build', fixture, ['--package'])).toMatchObject({ code: 0, stderr: '' })
  const lib = join(fixture.directory, 'npm', platform, 'lib')
  const sums = JSON.parse(readFileSync(join(lib, 'SHA256SUMS.json'), 'utf8')) as Record<string, string>
  expect(Object.keys(sums)).toEqual([sharedLibraryName('sum')])
  expect(sums[sharedLibraryName('sum')]).toMatch(/^[0-9a-f]{64}$/)
  expect(existsSync(join(lib, 'stale.so'))).toBe(false)
})

test.runIf(process.platform === 'linux')('a library can have another soname, and versions of its symbols', async () => {
  const target: NativeTarget = {
    name: 'sum',
    kind: 'shared',
    sources: ['src/sum.c'],
    includes: ['include'],
    soname: { linux: 'libother.so.2' },
    versionScript: 'src/sum.map',
    imports: [],
  }
  const fixture = makePackage({ targets: [target] }, { ...files, 'src/sum.map': 'V_1 { global: *; };' })
  expect(await rebuilt(fixture)).toEqual(['sum'])
  const info = readBinary(join(fixture.directory, 'build/release', sharedLibraryName('sum')))
  expect(info.soname).toBe('libother.so.2')
  expect(info.versionedExports).toContain('sum@V_1')
})
