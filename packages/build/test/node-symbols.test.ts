import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { importedNodeSymbols, renderNodeSymbols, writeNodeSymbols } from '../src/node-symbols.ts'
import { makePackage } from './fixture.ts'

test('writeNodeSymbols() looks up the functions that the lists of Node-API name', () => {
  const { directory, write } = makePackage({ targets: [] }, {})
  expect(() => writeNodeSymbols(directory, 'build/symbols.c')).toThrow(
    `${directory} must have node-api-headers as a dev dependency, because it has an addon`,
  )
  const list = (...names: string[]): string => `NAME NODE.EXE\r\nEXPORTS\r\n${names.join('\r\n')}\r\n`
  write('node_modules/node-api-headers/def/js_native_api.def', list('napi_typeof', 'node_api_symbol_for'))
  write('node_modules/node-api-headers/def/node_api.def', list('napi_make_callback'))
  writeNodeSymbols(directory, 'build/symbols.c')
  expect(readFileSync(join(directory, 'build/symbols.c'), 'utf8')).toBe(
    renderNodeSymbols(['napi_typeof', 'node_api_symbol_for', 'napi_make_callback']),
  )
})

const compiler = process.platform === 'win32' ? 'gcc' : 'x86_64-w64-mingw32-gcc'

// A library for Windows can be linked wherever there is a compiler for it.
if (spawnSync(compiler, ['--version']).status === 0)
  test('an addon for Windows is linked without importing from node.exe', () => {
    const { directory } = makePackage(
      { targets: [] },
      {
        'symbols.c': renderNodeSymbols(['napi_get_version', 'napi_create_int32']),
        'addon.c':
          'NAPI_EXTERN int napi_get_version(void *, unsigned *);\n' +
          '__declspec(dllexport) int run(unsigned *version);\nint run(unsigned *version) { return napi_get_version(0, version); }\n',
      },
    )
    const args = ['-shared', '-Wall', '-Wextra', '-Werror', importedNodeSymbols, '-o', 'a.node', 'addon.c', 'symbols.c']
    const { status, stderr } = spawnSync(compiler, args, { cwd: directory, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(readFileSync(join(directory, 'a.node'), 'latin1').toLowerCase()).not.toContain('node.exe')
  })
