import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { assertionsOf } from '../conformance/assertions.ts'
import { withCompiler } from '../conformance/with-compiler.ts'
import { CompilerError, HeadersProblem, type Model, readModel, writeModule } from '../src/index.ts'
import { hashOfModel } from '../src/model/hash-of-model.ts'

const torture = fileURLToPath(new URL('torture.h', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'tenon-bind-test-'))
afterAll(() => rmSync(directory, { recursive: true }))
const header = (name: string, text: string): string => {
  const path = join(directory, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

let model: Model
beforeAll(async () => {
  model = await readModel([torture])
})

const constant = (name: string): unknown => model.constants.find((one) => one.name === name)?.constant
const reason = (name: string): string | undefined => {
  const refusal = model.refused.find((one) => one.name === name)
  return refusal && (refusal.detail === '' ? refusal.reason : `${refusal.reason}: ${refusal.detail}`)
}

const compilers = ['cc', 'gcc', 'clang'].filter((name) => spawnSync(name, ['--version']).status === 0)

describe('layouts', () => {
  test.each(compilers)('every size, offset and constant holds as a static assertion of %s', (compiler) => {
    const assertions = assertionsOf(model)
    expect(assertions.length).toBeGreaterThan(80)
    const source = header('assert.c', `#include ${JSON.stringify(torture)}\n${assertions.join('\n')}\n`)
    const { status, stderr } = spawnSync(compiler, ['-fsyntax-only', '-w', source], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  test('an assertion that is wrong by one fails, so that the test above can fail', () => {
    const source = header(
      'wrong.c',
      `#include ${JSON.stringify(torture)}\n_Static_assert(sizeof(struct packed) == 14, "");\n`,
    )
    expect(spawnSync('cc', ['-fsyntax-only', source]).status).not.toBe(0)
  })

  test('bit-fields are where a program that sets them finds them', () => {
    const fields = ['bits', 'bits_packed'].flatMap((id) => {
      const record = model.records.find((one) => one.id === id)
      return record!.layout!.members.flatMap((member) => (member.kind === 'bits' ? [{ c: record!.c, ...member }] : []))
    })
    expect(fields.map(({ name, bitWidth }) => [name, bitWidth])).toEqual([
      ['a', 3],
      ['b', 5],
      ['c', 40],
      ['d', 24],
      ['e', 1],
      ['f', 7],
      ['a', 4],
      ['b', 20],
    ])
    const checks = fields.map(
      ({ c, name, bitOffset, bitWidth }, index) =>
        `{ ${c} s; unsigned char *p = (unsigned char *)&s; memset(&s, 0, sizeof s); s.${name} = -1; int n = 0, first = -1;
          for (int i = 0; i < (int)sizeof s * 8; i++) if (p[i / 8] >> (i % 8) & 1) { n++; if (first < 0) first = i; }
          if (first != ${bitOffset} || n != ${bitWidth}) return ${index + 1}; }`,
    )
    const source = header(
      'bits.c',
      `#include ${JSON.stringify(torture)}\n#include <string.h>\nint main(void) {\n${checks.join('\n')}\nreturn 0; }\n`,
    )
    const program = join(directory, 'bits')
    execFileSync('cc', ['-w', '-o', program, source])
    expect(spawnSync(program).status).toBe(0)
  })

  test('members of structs without a name belong to the outer one, and inner structs have the path as their name', () => {
    const members = (id: string): string[] =>
      model.records.find((one) => one.id === id)!.layout!.members.map(({ name }) => name)
    expect(members('nested')).toEqual(['name', 'at', 'f', 'bits'])
    expect(members('deep')).toEqual(['c', 's', 'd', 'e', 'g', 'list'])
    expect(members('nested_at')).toEqual(['x', 'y'])
    expect(members('both_half')).toEqual(['low', 'high'])
  })

  test('what is const has no setter', async () => {
    const path = header(
      'const.h',
      'struct s { const int a; int *const b; const char *c; int d; }; extern const int fixed; extern int changing; extern int *const kept;',
    )
    const read = await readModel([path])
    expect(read.records[0]!.layout!.members.map(({ name, isConst }) => [name, isConst])).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
      ['d', false],
    ])
    expect(read.variables.map(({ name, isConst }) => [name, isConst])).toEqual([
      ['fixed', true],
      ['changing', false],
      ['kept', true],
    ])
    const { declarations } = writeModule(read, { libraries: [] })
    expect(declarations.match(/set \w+/g)).toEqual(['set c', 'set d'])
    expect(declarations.match(/readonly value/g)).toHaveLength(2)
  })

  test('a macro with the name of a member does not hide its offset', () => {
    expect(model.records.find(({ id }) => id === 'hidden')!.layout!.members).toMatchObject([
      { name: 'xmember', byteOffset: 0 },
    ])
  })

  test('a struct that is only declared is opaque, and a name that a function has gets a final _', () => {
    expect(model.records.find(({ id }) => id === 'later')!.layout).toBeUndefined()
    expect(model.records.map(({ id }) => id)).toContain('stat_like_')
  })
})

describe('constants', () => {
  test.each([
    ['EIGHT', { kind: 'integer', value: 8n }],
    ['NEGATIVE', { kind: 'integer', value: -3n }],
    ['BIG', { kind: 'integer', value: 2n ** 64n - 1n }],
    ['SUM', { kind: 'integer', value: 3n }],
    ['CAST', { kind: 'integer', value: 44n }],
    ['LETTER', { kind: 'integer', value: 97n }],
    ['SMALL_B', { kind: 'integer', value: -5n }],
    ['LARGE', { kind: 'integer', value: 0xffffffffn }],
    ['WIDE', { kind: 'integer', value: 0x100000000n }],
    ['LONE', { kind: 'integer', value: 7n }],
    ['REAL', { kind: 'real', value: 1.5 }],
    ['TINY', { kind: 'real', value: 1e-300 }],
    ['TEXT', { kind: 'text', value: 'two parts' }],
    ['PARENTHESES', { kind: 'text', value: 'text' }],
    ['NOT_UTF8', { kind: 'bytes', value: Uint8Array.of(0xff, 0xfe) }],
    ['NOWHERE', { kind: 'pointer', value: 2n ** 64n - 1n }],
    ['NOTHING', { kind: 'pointer', value: 0n }],
  ])('%s', (name, value) => {
    expect(constant(name)).toEqual(value)
  })

  test.each([
    ['AT_RUN_TIME', 'known at run time only: needs --shim'],
    ['FUNCTION', 'known at run time only: needs --shim'],
    ['WIDE_TEXT', 'known at run time only: needs --shim'],
    ['BY_COMPILER', 'depends on the compiler'],
    ['CALL', 'function-like macro: annotate its types'],
    ['__RESERVED', 'reserved name'],
    ['A_TYPE', 'not an expression'],
    ['STATEMENT', 'not an expression'],
    ['UNBALANCED', 'not an expression'],
    ['PARTS', 'not an expression'],
    ['MORE_PARTS', 'not an expression'],
    ['UNKNOWN', 'not an expression'],
    ['UNKNOWN_TOO', 'not an expression'],
    ['PLACE', 'not an expression'],
  ])('%s is not one: %s', (name, expected) => {
    expect(constant(name)).toBeUndefined()
    expect(reason(name)).toBe(expected)
  })

  test('a macro that depends on the compiler is one if it is named exactly', async () => {
    const named = await readModel([torture], { include: ['BY_COMPILER'] })
    expect(named.constants).toMatchObject([{ name: 'BY_COMPILER', constant: { kind: 'integer' } }])
    const matched = await readModel([torture], { include: ['BY_COMP*'] })
    expect(matched.refused).toMatchObject([{ name: 'BY_COMPILER', reason: 'depends on the compiler' }])
  })

  test('a macro without a body is neither bound nor reported', () => {
    expect([constant('ONLY_A_GUARD'), reason('ONLY_A_GUARD')]).toEqual([undefined, undefined])
  })

  test.each([
    ['names that nothing declares', '(api->member + missing'],
    ['errors of all kinds', '(sizeof(struct later) + (int) * later'],
  ])('hundreds of macros with %s do not keep the others from being constants', async (_, body) => {
    const macros = Array.from({ length: 300 }, (__, i) => `#define M${i} ${body}${i % 7})`).join('\n')
    const { constants } = await readModel([header('many.h', `struct later;\n${macros}\n#define LAST 5\n`)])
    expect(constants.map(({ name }) => name)).toEqual(['LAST'])
  })
})

describe('functions', () => {
  test('with unions by value have the layouts of the compiler, and those with bit-fields are refused', async () => {
    const unions = {
      single: 'union single { int only; };',
      bits: 'union bits { int whole; struct { unsigned low : 4; }; };',
      padded: 'union padded { unsigned whole; struct { int : 8; unsigned char second; }; };',
      holder: 'struct holder { long first; union { int a; struct { int : 16; short b; }; }; };',
      list: '#include <stdarg.h>\nstruct list { va_list values; };',
      fine: 'struct fine { char a; short b[2]; struct { double c; } d; };',
    }
    const types = { single: 'union', bits: 'union', padded: 'union', holder: 'struct', list: 'struct', fine: 'struct' }
    const text = Object.entries(unions).map(
      ([name, type]) => `${type}\nint take_${name}(${types[name as keyof typeof types]} ${name} value);`,
    )
    const read = await readModel([header('values.h', text.join('\n'))])
    expect(read.functions.map(({ name }) => name)).toEqual(['take_single', 'take_padded', 'take_holder', 'take_fine'])
    expect(read.refused.map(({ name, detail }) => [name, detail])).toEqual([
      ['take_bits', 'takes the union bits with bit-fields by value, needs --shim'],
      ['take_list', expect.stringContaining('takes the struct list with')],
    ])
    const { code, declarations } = writeModule(read, { libraries: [] })
    for (const layout of [
      `(single, () => ({ union: { "only": [0, 'int32'] } }))`,
      `(padded, () => ({ union: { "whole": [0, 'uint32'], "struct at 1": [1, { struct: { "second": [0, 'uint8'] } }] } }))`,
      `"union at 8": [8, { union: { "a": [0, 'int32'], "struct at 2": [2, { struct: { "b": [0, 'int16'] } }] } }] }))`,
    ])
      expect(code).toContain(layout)
    expect(declarations).toContain('static readonly layout: UnionLayout')
  })

  test.each([
    ['precise', 'type cannot be passed: returns long double, needs --shim'],
    ['turn', 'type cannot be passed: returns float _Complex, needs --shim'],
    ['bits_by_value', 'type cannot be passed: returns the struct bits with bit-fields by value, needs --shim'],
    ['opaque_by_value', 'type cannot be passed: returns the opaque type later by value'],
    ['twice', 'inline function: needs --shim'],
    ['per_thread', 'thread-local'],
  ])('%s is refused: %s', (name, expected) => {
    expect(reason(name)).toBe(expected)
  })

  test('the others are bound, in the order of the header', () => {
    expect(model.functions.map(({ name }) => name)).toEqual([
      'accessor',
      'plain',
      'by_value',
      'two_by_value',
      'opaque',
      'variadic',
      'sort',
      'stat_like',
    ])
  })

  test('those that no library exports are refused with the name of the library', async () => {
    const { functions, refused } = await readModel([torture], {
      libraries: [{ name: 'libx.so', symbols: new Set(['plain']) }],
    })
    expect(functions.map(({ name }) => name)).toEqual(['plain'])
    expect(refused.find(({ name }) => name === 'sort')).toMatchObject({ reason: 'not exported', detail: 'by libx.so' })
  })

  test('patterns select names', async () => {
    const { functions, constants } = await readModel([torture], {
      include: ['so*', 'va*', 'EIGHT'],
      exclude: ['vari*'],
    })
    expect(functions.map(({ name }) => name)).toEqual(['sort'])
    expect(constants.map(({ name }) => name)).toEqual(['EIGHT'])
  })

  test('a header of the C library is bound with its parts, and nothing that another header brings', async () => {
    const { functions } = await readModel(['<math.h>'])
    const names = functions.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['cos', 'hypot', 'fma']))
    const { functions: own } = await readModel([
      header(
        'uses.h',
        '#include <math.h>\n#include <stdio.h>\ndouble mine(FILE *f, div_t *d);\n'.replace('div_t', 'double_t'),
      ),
    ])
    expect(own.map(({ name }) => name)).toEqual(['mine'])
  })
})

describe('what cannot be read', () => {
  test('is reported with the errors of the compiler, and a hint', async () => {
    await expect(readModel([header('bad.h', 'int f(size_t n);\n')])).rejects.toThrow(CompilerError)
    await expect(readModel([header('bad.h', 'int f(size_t n);\n')])).rejects.toThrow(
      /unknown type name.*size_t[^]*A header that needs another one must come after it/,
    )
    await expect(readModel([header('cxx.h', '#include <vector>\n')])).rejects.toThrow(/This header is C\+\+/)
    await expect(readModel(['/no/such.h'])).rejects.toThrow(/No such file[^]*-I/)
  })

  test('is reported with its line where only the reader does not understand it', async () => {
    const path = header(
      'block.h',
      'int a(void);\nvoid f(int (^block)(int)) ;\nint f2(int n, int a[n]);\nint (*g)(int) = 0, h[] = { 1, 2 };\n',
    )
    // Blocks are an extension of clang; gcc refuses them itself.
    await expect(readModel([path])).rejects.toThrow(/block\.h:2/)
    expect(HeadersProblem.prototype).toBeInstanceOf(Error)
  })
})

test('the hash of a model changes with everything that a module has, and with no path', async () => {
  const base = {
    kind: 'struct s { int a; };',
    constant: '#define C 1',
    enum: 'enum e { E };',
    call: 'int f(int);',
    variable: 'extern int v;',
  }
  const hashOf = async (parts: Partial<typeof base>, name = 'hash.h'): Promise<string> =>
    hashOfModel(await readModel([header(name, Object.values({ ...base, ...parts }).join('\n'))]))
  const hash = await hashOf({})
  expect(await hashOf({ kind: '\n/* moved */ struct s { int a; };' })).toBe(hash)
  const others = await Promise.all([
    hashOf({ kind: 'struct s { unsigned a; };' }, '1/hash.h'),
    hashOf({ kind: 'struct s { int : 32; int a; };' }, '2/hash.h'),
    hashOf({ constant: '#define C 2' }, '3/hash.h'),
    hashOf({ enum: 'enum e { E, F };' }, '4/hash.h'),
    hashOf({ call: 'int f(long);' }, '5/hash.h'),
    hashOf({ variable: 'extern long v;' }, '6/hash.h'),
  ])
  expect(new Set([hash, ...others]).size).toBe(7)
  expect(await hashOf({}, '7/hash.h')).toBe(hash)
})

describe('a module', () => {
  test.each(compilers)('is the same for every run and for %s', async (compiler) => {
    const read = (): Promise<Model[]> => Promise.all([torture, '<math.h>'].map((name) => readModel([name])))
    const [expected, again] = [await read(), await withCompiler(compiler, read)]
    expect(again.map((one) => writeModule(one, { libraries: ['libx.so'] }))).toEqual(
      expected.map((one) => writeModule(one, { libraries: ['libx.so'] })),
    )
  })

  test('has no path of this machine', () => {
    const { code, declarations } = writeModule(model, { libraries: ['libx.so'] })
    expect(`${code}${declarations}`).not.toContain(directory)
    expect(`${code}${declarations}`).not.toContain(torture)
  })

  test('has the comments of the header in TSDoc', () => {
    const { declarations } = writeModule(model, { libraries: ['libx.so'] })
    expect(declarations).toContain(
      '/**\n * Adds two numbers.\n * @param a the first\n * @returns their sum\n */\nexport declare function plain(a: number, b: number): number',
    )
  })

  test('names members and parameters that JavaScript reserves', () => {
    const { declarations } = writeModule(model, { libraries: [] })
    expect(declarations).toMatch(/get segment_\(\): number/)
  })
})
