import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { hostPlatform, sharedLibraryName } from '../src/platform.ts'
import type { AddonTarget, NativePackage, SharedTarget } from '../src/targets.ts'
import { type Fixture, makePackage, runBin } from './fixture.ts'

const sum: SharedTarget = { name: 'sum', kind: 'shared', sources: ['src/sum.c'], imports: [] }
const addon: AddonTarget = {
  name: 'sum_node',
  kind: 'addon',
  sources: ['src/addon.c'],
  uses: ['sum'],
  imports: ['sum'],
}
const table: NativePackage = { targets: [sum, addon] }

const addonSource = (more = ''): string => `
#define PUBLIC __attribute__((visibility("default")))
typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
int napi_create_int32(napi_env, int, napi_value *);
int sum(int, int);
PUBLIC int node_api_module_get_api_version_v1(void);
PUBLIC napi_value napi_register_module_v1(napi_env, napi_value);
int node_api_module_get_api_version_v1(void) { return 8; }
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value result = exports;
  ${more}
  napi_create_int32(env, sum(40, 2), &result);
  return result;
}
`

const files = {
  'src/sum.c':
    '__attribute__((visibility("default"))) int sum(int a, int b);\nint sum(int a, int b) { return a + b; }\n',
  'src/addon.c': addonSource(),
}

function load(fixture: Fixture, file: string): string {
  const script = `const module = { exports: {} }; process.dlopen(module, process.argv[1]); console.log(module.exports)`
  const path = join(fixture.directory, 'build/release', file)
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, path], { encoding: 'utf8' })
  return stdout || stderr
}

// On Windows, an addon finds the functions of Node.js at run time, which takes more than a fixture.
if (process.platform !== 'win32')
  describe('an addon', () => {
    test('is loaded by Node.js, with the library that it uses from the same directory', () => {
      const fixture = makePackage(table, files)
      expect(runBin('build', fixture)).toMatchObject({ code: 0, stderr: '' })
      expect(load(fixture, 'sum_node.node')).toBe('42\n')
      expect(runBin('build', fixture).stdout).toContain('build/release/sum_node.node (up to date)\n')
    })

    test('has the file name that its target gives', () => {
      const fixture = makePackage({ targets: [sum, { ...addon, fileName: 'sum.node' }] }, files)
      expect(runBin('build', fixture).stdout).toContain('build/release/sum.node\n')
      expect(load(fixture, 'sum.node')).toBe('42\n')
    })

    test('is a part of the platform package, unless it is a fixture', () => {
      const platform = hostPlatform.name
      const targets = [sum, addon, { ...addon, name: 'other', fixture: true }]
      const fixture = makePackage(
        { targets, platformPackages: 'npm' },
        { ...files, [`npm/${platform}/package.json`]: '{}' },
      )
      expect(runBin('build', fixture, ['--package'])).toMatchObject({ code: 0, stderr: '' })
      const packed = readdirSync(join(fixture.directory, 'npm', platform, 'lib'))
      expect(packed.toSorted()).toEqual(['SHA256SUMS.json', sharedLibraryName('sum'), 'sum_node.node'].toSorted())
    })

    test('is built with sanitizers, and left out of fuzzing', () => {
      const fixture = makePackage(table, files)
      expect(runBin('build', fixture, ['--variant', 'asan'])).toMatchObject({ code: 0, stderr: '' })
      expect(existsSync(join(fixture.directory, 'build/asan/sum_node.node'))).toBe(true)
      expect(runBin('build', fixture, ['--variant', 'fuzz'])).toMatchObject({ code: 0, stderr: '' })
      expect(existsSync(join(fixture.directory, 'build/fuzz/sum_node.node'))).toBe(false)
    })

    test('must list its imports, and cannot be used by another target', () => {
      const { imports: _, ...unlisted } = addon
      const fail = (...targets: unknown[]): string =>
        runBin('build', makePackage({ targets: targets as never }, files)).stderr
      expect(fail(sum, unlisted)).toContain('sum_node must have imports')
      expect(fail(sum, addon, { ...sum, name: 'user', uses: ['sum_node'] })).toContain(
        'user uses sum_node, which must be an earlier shared target',
      )
    })
  })

// The messages are those of the linker of Linux.
if (process.platform === 'linux') {
  test('an addon may leave only the functions of Node.js undefined', () => {
    const source = addonSource('extern void *host(void); if (host()) return exports;')
    const { code, stderr } = runBin('build', makePackage(table, { ...files, 'src/addon.c': source }))
    expect(code).toBe(1)
    expect(stderr).toBe(
      'sum_node.node violates its entry in the table of targets:\n  its imports must be listed in "imports", got host\n',
    )
  })

  test('an addon exports only what Node.js looks up', () => {
    const source = `${addonSource()}PUBLIC int more(void);\nint more(void) { return 1; }\n`
    const { stderr } = runBin('build', makePackage(table, { ...files, 'src/addon.c': source }))
    expect(stderr).toContain('its exports must be listed in "exports", got more\n')
    const silent = addonSource().replaceAll('napi_register_module_v1', 'napi_register')
    expect(runBin('build', makePackage(table, { ...files, 'src/addon.c': silent })).stderr).toContain(
      'it must export the symbols in "exports", but lacks napi_register_module_v1',
    )
  })

  test('a library must not use functions of Node.js', () => {
    const source = `int napi_get_version(void *, void *);\n${files['src/sum.c'].replace('a + b', 'a + b + napi_get_version(0, 0)')}`
    const { stderr } = runBin('build', makePackage({ targets: [sum] }, { ...files, 'src/sum.c': source }))
    expect(stderr).toContain('undefined reference')
  })

  test('a fixture calls its own function, although the program has another of the same name', () => {
    const library = `${files['src/sum.c']}__attribute__((visibility("default"))) int twice(int a);\nint twice(int a) { return sum(a, a); }\n`
    const main =
      '#include <stdio.h>\nint twice(int);\nint sum(int a, int b);\nint sum(int a, int b) { (void)a; (void)b; return -1; }\n' +
      'int main(void) { printf("1..1\\n# binds\\n%s - binds\\n", twice(2) == 4 ? "ok" : "not ok"); return twice(2) != 4; }\n'
    const user = {
      name: 'user',
      kind: 'test',
      sources: ['main.c'],
      uses: ['sum'],
      flags: ['-fvisibility=default'],
    } as const
    const run = (fixture: boolean): string =>
      runBin('test', makePackage({ targets: [{ ...sum, fixture }, user] }, { 'src/sum.c': library, 'main.c': main }))
        .stdout
    expect(run(true)).toContain('1 passed, 0 failed')
    expect(run(false)).toContain('0 passed, 1 failed')
  })
}
