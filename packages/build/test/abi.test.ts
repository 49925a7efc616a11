import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { parseHeaders, type Declarations } from '../src/abi/parse-headers.ts'
import { renderFunctions, renderLayouts, renderProof, renderStructs } from '../src/abi/render.ts'
import type { NativePackage, SharedTarget } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const parse = (text: string, only?: readonly string[]): Declarations =>
  parseHeaders([{ path: 'x.h', text, only }], 'API')

const library = (name: string, exports: readonly string[]): SharedTarget => ({
  name,
  kind: 'shared',
  sources: [],
  imports: [],
  exports,
})

describe('functions', () => {
  const tableOf = (source: string, ...libraries: SharedTarget[]): string =>
    renderFunctions(parse(source).functions, libraries)

  test('have the types of C, without the targets of pointers', () => {
    const table = tableOf(
      `typedef void *handle_t;
       typedef int32_t (*callback_t)(void *data, int32_t code);
       API void x_close(void);
       API const char *x_text(int32_t status);
       API uint32_t x_all(const uint8_t *bytes, size_t size, int64_t id, char fill, int32_t out[1], handle_t handle,
                          callback_t callback, void (*body)(void *), double real);`,
      library('x', ['x_*']),
    )
    expect(table).toContain("    x_close: ['void', []],\n")
    expect(table).toContain("    x_text: ['const char *', ['int32_t']],\n")
    const address = "'void *'"
    expect(table).toContain(
      `[${address}, 'size_t', 'int64_t', 'int8_t', ${address}, ${address}, ${address}, ${address}, 'double']`,
    )
  })

  test('belong to the library whose exports match them most exactly', () => {
    const table = tableOf(
      'API int32_t x_a(void); API int32_t x_b_c(void); API int32_t x_b_d(void);',
      library('all', ['x_*']),
      library('some', ['x_b_*']),
      library('one', ['x_b_d', 'y']),
    )
    expect(table.replaceAll(/\s+/g, ' ')).toContain(
      "{ all: { x_a: ['int32_t', []], }, some: { x_b_c: ['int32_t', []], }, one: { x_b_d: ['int32_t', []], }, }",
    )
  })

  test('are refused if no library exports them, or if they take a struct by value', () => {
    expect(() => tableOf('\nAPI int32_t y(void);', library('x', ['x_*']))).toThrow('x.h:2: no library exports y')
    const source = 'typedef struct { int32_t a; } s_t;\nAPI int32_t x(s_t s);'
    expect(() => tableOf(source, library('x', ['x']))).toThrow('x.h:2: x must take and return numbers and pointers')
  })
})

describe('structs', () => {
  const layoutOf = (source: string, name = 's_t'): unknown => {
    const layout = parse(source).layouts.get(name)
    return layout && { size: layout.size, alignment: layout.alignment, offsets: layout.offsets }
  }

  test('have the padding of 64-bit ABIs', () => {
    expect(
      layoutOf(`typedef struct s {
        uint8_t a; /* a comment */
        const void *b;
        uint16_t c, d;
        uint8_t e[3];
        int32_t (*f)(void *data);
        struct s *g;
        bool h;
      } s_t;`),
    ).toEqual({ size: 48, alignment: 8, offsets: { a: 0, b: 8, c: 16, d: 18, e: 20, f: 24, g: 32, h: 40 } })
  })

  test('contain structs and anonymous unions, whose members they have as their own', () => {
    const source = `#define COUNT 4
      struct inner_ { int32_t a; int64_t b; };
      typedef struct { uint8_t x; struct inner_ inner; union { uint32_t y; double z; }; float w[COUNT]; } s_t;`
    expect(layoutOf(source)).toEqual({
      size: 48,
      alignment: 8,
      offsets: { x: 0, inner: 8, y: 24, z: 24, w: 32 },
    })
    expect(layoutOf(source, 'struct inner_')).toEqual({ size: 16, alignment: 8, offsets: { a: 0, b: 8 } })
  })

  test('are refused with the line of a member of an unknown type', () => {
    expect(() => layoutOf('typedef struct {\n  int32_t a;\n  other_t b;\n} s_t;')).toThrow(
      'x.h:3: the layout of other_t is not known',
    )
  })
})

test('constants are numbers of macros and enums', () => {
  const { constants } = parse(`
    #define A 0x10u
    #define B (-3)
    #define C (1ull << 4)
    #define FLAG_TEXT __attribute__((visibility("default")))
    #define CALL(x) ((x) + 1)
    typedef enum { D = A, E = 1 << 2, F = -7, } e_t;
    enum { G = 9 };`)
  expect(Object.fromEntries(constants)).toEqual({ A: 16, B: -3, C: 16, D: 16, E: 4, F: -7, G: 9 })
  const headers = ['#define A 1', '\n#define A 2'].map((text, index) => ({ path: `${index}.h`, text }))
  expect(() => parseHeaders(headers, 'API')).toThrow('1.h:2: the constant A is defined twice')
})

test('a header is read as a C compiler on a POSIX system reads it', () => {
  const { functions, constants } = parse(`#ifndef X_H
    #define X_H
    #include "y.h"
    #if defined(_WIN32)
    #define API __declspec(dllexport)
    API int32_t x_windows(void);
    #else
    #define API __attribute__((visibility("default")))
    #endif
    #ifdef __cplusplus
    extern "C" {
    #endif
    typedef struct opaque opaque_t;
    static inline int32_t twice(int32_t x) { return 2 * x; }
    API int32_t x_posix(opaque_t *x); // not a comment of C89
    #ifdef __cplusplus
    }
    #endif
    #endif`)
  expect(functions.map(({ name }) => name)).toEqual(['x_posix'])
  expect(constants.size).toBe(0)
})

test('a list of names leaves out all other declarations, whatever they are', () => {
  const source = `#define KEEP_A 1
    #define DROP_A (KEEP_A + what)
    CHECK(sizeof(int) == 4, "text");
    typedef struct { unknown_t x; } drop_t;
    typedef struct { int32_t x; } keep_t;
    enum { KEEP_B = 2, DROP_B = 3 };
    API int32_t drop(drop_t x);`
  const { layouts, constants, functions } = parse(source, ['KEEP_*', 'keep_t'])
  expect([...layouts.keys()]).toEqual(['keep_t'])
  expect(Object.fromEntries(constants)).toEqual({ KEEP_A: 1, KEEP_B: 2 })
  expect(functions).toEqual([])
})

describe('a declaration that is not understood', () => {
  test.each([
    ['\n\nint32_t x(void);', 'x.h:3: the declaration must have API, typedef, struct or enum here, got "int32_t"'],
    ['API int32_t (x)(void);', 'x.h:1: the declaration must have a name here, got "("'],
    ['API int32_t x(void)', 'x.h:1: the declaration must have a ";" at the end of the declaration here'],
    ['API int32_t x(int32_t a b);', 'x.h:1: the declaration must have "," here, got "b"'],
    ['typedef struct { int32_t a : 3; } s_t;', 'x.h:1: the declaration must have ";" here, got ":"'],
    ['typedef int32_t number_t;', 'x.h:1: the declaration must have a struct or a pointer here, got ";"'],
    ['enum { A, B };', 'x.h:1: the declaration must have "=" here, got ","'],
    ['#define A B + 1', 'x.h:1: the value of a constant must be a number, got B + 1'],
    ['\n#if A > 1\n#endif', 'x.h:2: this preprocessor line is not supported: #if A > 1'],
    ['#pragma pack(1)', 'x.h:1: this preprocessor line is not supported: #pragma pack(1)'],
    ['API int32_t x(@);', 'x.h:1: this character is not supported: @'],
  ])('%j is refused with its line', (source, message) => {
    expect(() => parse(source)).toThrow(message)
  })
})

test('members become TypeScript in their order, with the lengths of arrays and the members of anonymous unions', () => {
  const source = `struct inner_ { void *p; };
    typedef struct { const char *text; struct inner_ inner; char name[8]; union { double x; struct { int32_t a, b; }; }; } s_t;`
  expect(renderStructs(parse(source))).toContain(`export const STRUCTS = {
  inner_: {
    p: 'void *',
  },
  s_t: {
    text: 'void *',
    inner: 'inner_',
    name: ['char', 8],
    union_24: {
      union: {
        x: 'double',
        struct_0: {
          struct: {
            a: 'int32_t',
            b: 'int32_t',
          },
        },
      },
    },
  },
} as const
`)
})

test('layouts and constants become TypeScript, and C that proves them', () => {
  const declared = parse('#define A 3\nstruct s_ { void *p; };\ntypedef struct { int32_t a, b; } t_t;')
  const script = renderLayouts(declared)
  expect(script).toContain('  s_: {\n    size: 8,\n    offsets: { p: 0 },\n  },\n')
  expect(script).toContain('  t_t: {\n    size: 8,\n    offsets: { a: 0, b: 4 },\n  },\n')
  expect(script).toContain('export const CONSTANTS = {\n  A: 3,\n} as const\n')
  const proof = renderProof(['x.h'], declared)
  expect(proof).toContain('#include "x.h"\n')
  for (const line of ['SIZE(struct s_, 8)', 'OFFSET(struct s_, p, 0)', 'OFFSET(t_t, b, 4)', 'VALUE(A, 3)'])
    expect(proof).toContain(`${line}\n`)
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
  const header = `#include <stdint.h>
    #define API __attribute__((visibility("default")))
    typedef struct { uint8_t a; int32_t b; } x_t;
    API int32_t x_size(const x_t *x);\n`
  const files = {
    'x.h': header,
    'x.c': '#include "x.h"\nint32_t x_size(const x_t *x) { return x->b; }\n',
    'main.c': 'int main(void) { return 0; }\n',
  }

  test('--check fails on stale tables, and a build makes them fresh', () => {
    const fixture = makePackage(native, { ...files, 'functions.ts': '// stale\n' })
    const stale = runBin('build', fixture, ['--check'])
    expect(stale).toMatchObject({
      code: 1,
      stderr: 'fixture: functions.ts is stale. Run tenon-build and commit it.\n',
    })
    expect(runBin('build', fixture).code).toBe(0)
    expect(readFileSync(join(fixture.directory, 'layouts.ts'), 'utf8')).toContain('offsets: { a: 0, b: 4 }')
    expect(runBin('build', fixture, ['--check']).code).toBe(0)
    fixture.write('x.h', header.replace('uint8_t a', 'uint64_t a'))
    expect(runBin('build', fixture, ['--check'])).toMatchObject({
      code: 1,
      stderr: 'fixture: layouts.ts is stale. Run tenon-build and commit it.\n',
    })
  }, 60_000)

  test('fails in the C compiler if a layout is not that of C', () => {
    const headers = [{ source: 'y.h', include: 'x.h' }]
    const fixture = makePackage({ ...native, abi: { ...native.abi!, headers } }, { ...files, 'y.h': header })
    fixture.write('x.h', header.replace('uint8_t a', 'uint64_t a'))
    const { code, stderr } = runBin('build', fixture, ['--all'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/static assertion failed|static_assert/)
  }, 60_000)
})
