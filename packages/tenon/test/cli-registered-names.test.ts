import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon } from './run-tenon.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Registers a type with surprising members, and one whose key no string can name. */
const source = `
#include <string.h>
#include "tenon/tvm_ffi.h"

static int32_t type(const char *key, size_t size) {
  TVMFFIByteArray text = {key, size};
  return TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 1, 64);
}

static int five(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 5};
  return 0;
}

static int get(void *field, TVMFFIAny *result) { return five(NULL, NULL, 0, result); }

__attribute__((constructor)) static void load(void) {
  type("names.A\\0B", 9);
  int32_t index = type("names.Good", 10);
  TVMFFIObjectHandle function;
  TVMFFIFunctionCreate(NULL, five, NULL, &function);
  TVMFFIMethodInfo method;
  memset(&method, 0, sizeof method);
  method.name = (TVMFFIByteArray){"constructor", 11};
  method.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  method.method = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function};
  TVMFFITypeRegisterMethod(index, &method);
  TVMFFIFieldInfo field;
  memset(&field, 0, sizeof field);
  field.name = (TVMFFIByteArray){"unclear", 7};
  field.metadata = (TVMFFIByteArray){"{\\"type_schema\\":\\"{\\"}", 19};
  field.getter = get;
  TVMFFITypeRegisterField(index, &field);
}
`

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-names-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(pathOf('..'), join(directory, 'node_modules/tenon'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'names.c'), source)
  const flags = ['-shared', '-fPIC', '-I', pathOf('../../core/include'), '-o', 'libnames.so', 'names.c']
  execFileSync(process.env['CC'] ?? 'cc', flags, { cwd: directory })
})
afterAll(() => rmSync(directory, { recursive: true }))

describe('a library whose names are surprising', () => {
  test('tenon inspect --registered leaves out a key that no string can name', () => {
    const { code, stdout } = runTenon(['inspect', 'libnames.so', '--registered'], { cwd: directory })
    expect(code).toBe(0)
    expect(stdout).toContain('\nregistered types (1)\n  names.Good, no constructor\n')
  })

  test('tenon inspect --registered shows Any for a field whose type cannot be read', () => {
    const { stdout } = runTenon(['inspect', 'libnames.so', '--registered'], { cwd: directory })
    expect(stdout).toMatch(/\n {4}unclear +Any, read-only\n/)
  })

  test('tenon types --registered declares a static method named constructor', () => {
    const args = ['types', 'libnames.so', '--registered', '--output', 'names.js']
    expect(runTenon(args, { cwd: directory })).toMatchObject({ code: 0 })
    expect(readFileSync(join(directory, 'names.d.ts'), 'utf8')).toContain("  static ['constructor'](")
    writeFileSync(
      join(directory, 'use.ts'),
      "import { Good } from './names.js'\nimport type { Value } from 'tenon/packed-func'\n" +
        "export const five: Value = Good['constructor']()\n// @ts-expect-error\nnew Good()\n",
    )
    const flags = '--strict --noEmit --module nodenext --target es2024 --customConditions @tenon/source'.split(' ')
    const compiler = pathOf('../../../node_modules/typescript/bin/tsc')
    const options = { cwd: directory, encoding: 'utf8', stdio: 'pipe' } as const
    let output = ''
    try {
      const all = [compiler, ...flags, '--allowImportingTsExtensions', 'names.d.ts', 'use.ts']
      execFileSync(process.execPath, all, options)
    } catch (error) {
      output = (error as { stdout: string }).stdout
    }
    // The sources of the packages are not checked here.
    expect(output.split('\n').filter((line) => /^(?:names|use)\./.test(line))).toEqual([])
  })
})
