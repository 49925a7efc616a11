import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AbiTables, NativePackage, NativeTarget } from '@tenon/build/internal'
import { expect, describe, onTestFinished, test } from 'vitest'

import { renderAbi } from '../src/write/tables.ts'

const API =
  '#include <stdint.h>\n#include <stddef.h>\n#include <stdbool.h>\n#define API __attribute__((visibility("default")))\n'

/** A directory with these files, gone when the test is. */
function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-tables-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  return directory
}

const library = (name: string, exports: readonly string[]): NativeTarget => ({
  name,
  kind: 'shared',
  sources: [],
  includes: ['.'],
  imports: [],
  exports,
})

const abi: AbiTables = {
  headers: [{ source: 'x.h' }],
  exportMacro: 'API',
  functions: 'functions',
  layouts: 'layouts',
  structs: 'structs',
  proof: 'proof',
}

interface Tables {
  readonly functions: string
  readonly layouts: string
  readonly structs: string
  readonly proof: string
}

async function tablesOf(
  source: string,
  targets: readonly NativeTarget[] = [library('x', ['x*'])],
  only?: readonly string[],
): Promise<Tables> {
  const headers = [only === undefined ? { source: 'x.h' } : { source: 'x.h', only }]
  return (await renderAbi({ ...abi, headers }, targets, directoryOf({ 'x.h': API + source }))) as unknown as Tables
}

describe('functions', () => {
  test('have the types of C, without the targets of pointers', async () => {
    const { functions } = await tablesOf(
      `typedef void *handle_t;
       typedef int32_t (*callback_t)(void *data, int32_t code);
       typedef struct opaque opaque_t;
       static inline int32_t twice(int32_t x) { return 2 * x; }
       API void x_close(opaque_t *x);
       API const char *x_text(int32_t status, bool b, int count);
       API uint32_t x_all(const uint8_t *bytes, size_t size, int64_t id, char fill, int32_t out[1], handle_t handle,
                          callback_t callback, void (*body)(void *), double real);`,
    )
    expect(functions).toContain("    x_close: ['void', ['void *']],\n")
    expect(functions).toContain("    x_text: ['const char *', ['int32_t', 'bool', 'int32_t']],\n")
    const address = "'void *'"
    expect(functions).toContain(
      `[${address}, 'size_t', 'int64_t', 'int8_t', ${address}, ${address}, ${address}, ${address}, 'double']`,
    )
    expect(functions).not.toContain('twice')
  })

  test('belong to the library whose exports match them most exactly', async () => {
    const { functions } = await tablesOf('API int32_t x_a(void);\nAPI int32_t x_b_c(void);\nAPI int32_t x_b_d(void);', [
      library('all', ['x_*']),
      library('some', ['x_b_*']),
      library('one', ['x_b_d', 'y']),
    ])
    expect(functions.replaceAll(/\s+/g, ' ')).toContain(
      "{ all: { x_a: ['int32_t', []], }, some: { x_b_c: ['int32_t', []], }, one: { x_b_d: ['int32_t', []], }, }",
    )
  })
})

describe('structs', () => {
  test('have the layouts of the compiler, and the members of structs and unions without a name as their own', async () => {
    const { layouts, structs, proof } = await tablesOf(`
      enum { COUNT = 4 };
      struct inner_ { int32_t a; int64_t b; };
      typedef struct s {
        uint8_t x; struct inner_ inner; const char *text; char name[8];
        union { double y; struct { int32_t c, d; union { float e; uint8_t f; }; }; struct { uint16_t g; }; };
        float w[COUNT]; int32_t (*call)(void *data); struct s *next; bool last;
      } s_t;`)
    expect(layouts).toContain('  inner_: {\n    size: 16,\n    offsets: { a: 0, b: 8 },\n  },\n')
    expect(layouts.replaceAll(/\s+/g, ' ')).toContain(
      's_t: { size: 96, offsets: { x: 0, inner: 8, text: 24, name: 32, y: 40, c: 40, d: 44, e: 48, f: 48, g: 40, w: 56, call: 72, next: 80, last: 88, }',
    )
    expect(structs.replaceAll(/\s+/g, ' ')).toContain(
      `s_t: { x: 'uint8_t', inner: 'inner_', text: 'void *', name: ['char', 8], ` +
        `union_40: { union: { y: 'double', ` +
        `struct_0: { struct: { c: 'int32_t', d: 'int32_t', union_8: { union: { e: 'float', f: 'uint8_t', }, }, }, }, ` +
        `struct_0: { struct: { g: 'uint16_t', }, }, }, }, ` +
        `w: ['float', 4], call: 'void *', next: 'void *', last: 'bool', }`,
    )
    for (const line of ['SIZE(struct inner_, 16)', 'SIZE(s_t, 96)', 'OFFSET(s_t, f, 48)', 'VALUE(COUNT, 4)'])
      expect(proof).toContain(`${line}\n`)
    expect(proof).toContain('#include "x.h"\n')
  })
})

test('constants are integers of macros and enumerators, those of macros first', async () => {
  const { layouts } = await tablesOf(`
    typedef enum { D = 0x10, E = 1 << 2, F = -7, G } e_t;
    #define A 0x10u
    #define B (-3)
    #define C (A + sizeof(int64_t))
    #define CALL(x) ((x) + 1)`)
  expect(layouts).toContain(
    'export const CONSTANTS = {\n  A: 16,\n  B: -3,\n  C: 24,\n  D: 16,\n  E: 4,\n  F: -7,\n  G: -6,\n} as const\n',
  )
})

test('a list of names leaves out all other declarations, and all functions', async () => {
  const { layouts, functions } = await tablesOf(
    `#define KEEP_A 1
    #define DROP_A "text"
    _Static_assert(sizeof(int) == 4, "text");
    typedef struct { long x; } drop_t;
    typedef struct { int32_t x; } keep_t;
    enum { KEEP_B = 2, DROP_B = 3 };
    API long drop(drop_t *x);`,
    [library('x', [])],
    ['KEEP_*', 'keep_t'],
  )
  expect(layouts).toContain('keep_t: {')
  expect(`${layouts}${functions}`).not.toMatch(/drop/i)
  expect(layouts).toContain('  KEEP_A: 1,\n  KEEP_B: 2,\n')
})

describe('a declaration whose tables would not hold on all systems, or that they cannot express', () => {
  test.each([
    ['API long x(void);', 'x must take and return pointers and numbers of a fixed size, got long'],
    ['API void x(unsigned a);', 'x must take and return pointers and numbers of a fixed size, got unsigned int'],
    ['API void x(wchar_t a);', 'x must take and return pointers and numbers of a fixed size, got wchar_t'],
    [
      'typedef struct { int32_t a; } s_t; API void x(s_t s);'.replace(' API', '\nAPI'),
      'x must take and return pointers and numbers of a fixed size, got s_t',
    ],
    ['API long double x(void);', 'x cannot be in the tables: type cannot be passed: returns long double'],
    ['typedef struct { long a; } s_t;', 'the size of s_t.a must be the same everywhere, got long'],
    ['typedef struct { enum e { A } a; } s_t;', 'the size of s_t.a must be the same everywhere, got e'],
    ['typedef struct { uint32_t a : 3; } s_t;', 's_t.a must not be a bit-field'],
    ['int32_t x(void);', 'the line that declares x must begin with API'],
    ['API int32_t y(void);', 'no library exports y'],
    ['#define A 1.5', 'A must be an integer, got a real'],
    ['#define A (x_a())\nAPI int32_t x_a(void);', 'A cannot be in the tables: known at run time only'],
  ])('%j is refused with its line', async (source, message) => {
    const line = 4 + (source.split('\n').findIndex((text) => /x\(|y\(|\ba\b|A/.test(text.replace('API', ''))) + 1)
    await expect(tablesOf(source)).rejects.toThrow(
      new RegExp(`^x\\.h:(?:${line}|${line + 1}): ${message.replaceAll(/[()]/g, '\\$&')}`),
    )
  })
})

describe('tenon-build', () => {
  const native: NativePackage = {
    targets: [
      { name: 'x', kind: 'shared', sources: ['x.c'], includes: ['.'], imports: [], exports: ['x_*'] },
      { name: 'x_test', kind: 'test', sources: ['proof.c', 'main.c'], includes: ['.'] },
    ],
    abi: {
      headers: [{ source: 'x.h' }],
      exportMacro: 'API',
      functions: 'functions.ts',
      layouts: 'layouts.ts',
      proof: 'proof.c',
    },
  }
  const header = `${API}typedef struct { uint8_t a; int32_t b; } x_t;\nAPI int32_t x_size(const x_t *x);\n`
  const files = {
    'package.json': JSON.stringify({ name: 'fixture', version: '1.2.3', type: 'module' }),
    'x.h': header,
    'x.c': '#include "x.h"\nint32_t x_size(const x_t *x) { return x->b; }\n',
    'main.c': 'int main(void) { return 0; }\n',
  }

  function makePackage(table: NativePackage, more: Readonly<Record<string, string>>): string {
    const directory = directoryOf({
      ...files,
      ...more,
      'native.targets.ts': `export default ${JSON.stringify(table)}`,
      'node_modules/@tenon/place': '',
    })
    symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/@tenon/bind'))
    return directory
  }

  const script = fileURLToPath(new URL('../../build/src/bin/build.ts', import.meta.url))

  function build(directory: string, ...args: readonly string[]): { code: number | null; stderr: string } {
    const { status, stderr } = spawnSync(process.execPath, ['--conditions=@tenon/source', script, ...args], {
      cwd: directory,
      // pnpm adds the packages of the repository to the search.
      env: { ...process.env, NODE_PATH: '', TENON_VARIANT: '' },
      encoding: 'utf8',
    })
    return { code: status, stderr }
  }

  test('--check fails on stale tables, and a build makes them fresh', () => {
    const directory = makePackage(native, { 'functions.ts': '// stale\n' })
    expect(build(directory, '--check')).toEqual({
      code: 1,
      stderr: 'fixture: functions.ts is stale. Run tenon-build and commit it.\n',
    })
    expect(build(directory)).toMatchObject({ code: 0 })
    expect(readFileSync(join(directory, 'layouts.ts'), 'utf8')).toContain('offsets: { a: 0, b: 4 }')
    expect(build(directory, '--check')).toMatchObject({ code: 0 })
    writeFileSync(join(directory, 'x.h'), header.replace('uint8_t a', 'uint64_t a'))
    expect(build(directory, '--check')).toEqual({
      code: 1,
      stderr: 'fixture: layouts.ts is stale. Run tenon-build and commit it.\n',
    })
  }, 60_000)

  test('fails in the C compiler if the header of a library is not the one that was read', () => {
    const headers = [{ source: 'y.h', include: 'x.h' }]
    const directory = makePackage({ ...native, abi: { ...native.abi!, headers } }, { 'y.h': header })
    writeFileSync(join(directory, 'x.h'), header.replace('uint8_t a', 'uint64_t a'))
    const { code, stderr } = build(directory, '--all')
    expect(code).toBe(1)
    expect(stderr).toMatch(/static assertion failed|static_assert/)
  }, 60_000)

  test('names what to install in a package that cannot load the header reader', () => {
    const directory = makePackage(native, {})
    rmSync(join(directory, 'node_modules'), { recursive: true })
    expect(build(directory)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('npm install --save-dev @tenon/bind') as string,
    })
  })
})
