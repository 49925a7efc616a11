import { describe, expect, test } from 'vitest'

import type { CType } from '../src/read/c-types.ts'
import { type Declarations, readDeclarations } from '../src/read/declarations.ts'
import { tokenize } from '../src/read/tokens.ts'

const read = (text: string): Declarations => readDeclarations(tokenize(`# 1 "x.h"\n${text}`).tokens)

/** A type in words, as cdecl writes it. */
function words(type: CType): string {
  switch (type.kind) {
    case 'scalar':
    case 'typedef':
      return type.name
    case 'pointer':
      return `pointer to ${type.toConst ? 'const ' : ''}${words(type.to)}`
    case 'array':
      return `array ${type.count ?? 'of any length'} of ${words(type.of)}`
    case 'function':
      return `function (${[...type.parameters.map((parameter) => words(parameter.type)), ...(type.isVariadic ? ['...'] : [])].join(', ')}) returning ${words(type.result)}`
    case 'record':
      return type.record.spelling ?? `${type.record.keyword} without a name`
    case 'enum':
      return type.enumeration.spelling ?? 'enum without a name'
    case 'unsupported':
      return `unsupported ${type.text}`
    default:
      return type.kind
  }
}

const typeOf = (text: string): string => {
  const { functions, variables, typedefs, problems } = read(text)
  expect(problems).toEqual([])
  const found = functions.get('x') ?? variables.get('x') ?? typedefs.get('x')
  return words(found!.type)
}

describe('declarators', () => {
  test.each([
    ['extern int x;', 'int'],
    ['long unsigned int long x;', 'unsigned long long'],
    ['const char *x;', 'pointer to const char'],
    ['char const *const *x;', 'pointer to const pointer to const char'],
    ['int *x[3];', 'array 3 of pointer to int'],
    ['int (*x)[3][N + 1];', 'pointer to array 3 of array N + 1 of int'],
    ['int (*x)(void);', 'pointer to function () returning int'],
    ['int x(void);', 'function () returning int'],
    ['int x();', 'function () returning int'],
    [
      'void x(int a[4], int b(long));',
      'function (pointer to int, pointer to function (long) returning int) returning void',
    ],
    ['void x(const int a[restrict static 4]);', 'function (pointer to const int) returning void'],
    [
      'void (*x(int, void (*)(int)))(int);',
      'function (int, pointer to function (int) returning void) returning pointer to function (int) returning void',
    ],
    ['int (x)(const char *, ...);', 'function (pointer to const char, ...) returning int'],
    ['typedef int arr[7]; void x(arr a);', 'function (pointer to int) returning void'],
    ['typedef int fn(int); void x(fn f, fn *g);', 'function (pointer to fn, pointer to fn) returning void'],
    ['typedef int T; void x(T, T T);', 'function (T, T) returning void'],
    ['typedef int T; int x(int (T));', 'function (pointer to function (T) returning int) returning int'],
    ['typedef struct p p; struct p { int a; }; p *x(p *const q);', 'function (pointer to p) returning pointer to p'],
    ['char x[sizeof(int[2])], y;', 'array sizeof ( int [ 2 ] ) of char'],
    ['__attribute__((unused)) static inline int x(int a) { return a ? (a) : {0}; }', 'function (int) returning int'],
    ['int x [[deprecated("x")]];', 'int'],
    ['_Noreturn void x(int) __attribute__((nothrow, nonnull(1)));', 'function (int) returning void'],
    ['double _Complex x(_Complex float z);', 'function (float _Complex) returning double _Complex'],
    ['typedef float v4 __attribute__((vector_size(16))); v4 x(void);', 'function () returning v4'],
    ['int x __attribute__((vector_size(16)));', 'unsupported a vector type'],
    ['_BitInt(7) x;', 'unsupported _BitInt(7)'],
    ['__typeof__(1 + 1) x;', 'unsupported __typeof__(1 + 1)'],
    ['_Atomic(int) x;', 'int'],
    ['int _Atomic x;', 'int'],
    ['void *_Nullable x;', 'pointer to void'],
    ['__extension__ typedef long long x;', 'long long'],
    ['typedef float _Float32; typedef _Float32 x;', '_Float32'],
    [
      'typedef long double _Float64x; _Float64x x(_Complex _Float32 z);',
      'function (float _Complex) returning _Float64x',
    ],
    ['typedef unsigned char bool; bool x(bool *p);', 'function (pointer to bool) returning bool'],
    ['typedef enum { false, true } bool; bool x;', 'bool'],
    ['int __cdecl x(void);', 'function () returning int'],
    ['void x(__builtin_va_list ap);', 'function (va_list) returning void'],
  ])('%s', (text, expected) => {
    expect(typeOf(text)).toBe(expected)
  })
})

describe('structs and enumerations', () => {
  test('members keep their order, their bit-fields and what has no name', () => {
    const { records, problems } = read(
      'struct s { int a, *b : 1; unsigned c : 3, : 2, d : N; int : 0; union { int e; struct { char f; }; }; struct in { int g; } h[2]; int last[]; };',
    )
    // A pointer cannot be a bit-field, but that is the compiler's word.
    expect(problems).toEqual([])
    const [outer] = records
    expect(outer!.members!.map(({ name, bits }) => [name, bits])).toEqual([
      ['a', undefined],
      ['b', '1'],
      ['c', '3'],
      [undefined, '2'],
      ['d', 'N'],
      [undefined, '0'],
      [undefined, undefined],
      ['h', undefined],
      ['last', undefined],
    ])
  })

  test('an enumeration of C23 and trailing commas are read', () => {
    const { enums } = read(
      'enum e : unsigned char { A, B = (1 << 2), C __attribute__((deprecated)) = 9, }; typedef enum { D } t;',
    )
    expect(enums.map(({ spelling, enumerators }) => [spelling, enumerators?.map(({ name }) => name)])).toEqual([
      ['enum e', ['A', 'B', 'C']],
      ['t', ['D']],
    ])
  })

  test('a type that is only declared is opaque, and one that is defined twice is marked', () => {
    const { records } = read('struct a; struct b { int x; }; struct b { int x; };')
    expect(records.map(({ members, isDefinedTwice }) => [members?.length, isDefinedTwice])).toEqual([
      [undefined, false],
      [1, true],
    ])
  })
})

describe('functions', () => {
  test('a body or static makes a function one of the header, and asm gives it the name in the library', () => {
    const { functions } = read(
      'static int a(void); inline int b(void) { return (int){1}; } int c(void) __asm__("" "c_v" "2") __attribute__((pure)); int d(int x) { return "}"[x]; } int e(void);',
    )
    expect([...functions.values()].map(({ name, isInline, symbol }) => [name, isInline, symbol])).toEqual([
      ['a', true, undefined],
      ['b', true, undefined],
      ['c', false, 'c_v2'],
      ['d', true, undefined],
      ['e', false, undefined],
    ])
  })

  test('the declaration that names the parameters is kept, with the place of the first', () => {
    const { functions } = read('int f(int);\nint f(int count);\nint f(int);')
    expect(functions.get('f')).toMatchObject({ type: { parameters: [{ name: 'count' }] }, place: { line: 1 } })
  })

  test('a declaration that cannot be read is reported with its line, and the next ones are read', () => {
    const { functions, problems } = read(
      'int a(void);\nint @ b(int);\nunknown_t c(void);\nint d(void) { broken } int e(void);',
    )
    expect([...functions.keys()]).toEqual(['a', 'd', 'e'])
    expect(problems.map(({ place, message }) => `${place.file}:${place.line}: ${message}`)).toEqual([
      'x.h:2: expected a name, got "@"',
      'x.h:3: expected a type, got "unknown_t"',
    ])
  })

  test('brackets that are never closed are a problem and not an endless loop', () => {
    expect(read('struct s { int a[(3; };').problems.length).toBe(1)
    expect(read('int f(').problems.length).toBe(1)
    expect(read('{{{{').problems.length).toBeGreaterThan(0)
  })
})

describe('the preprocessor’s lines', () => {
  test('macros are those defined at the end, in the order of their last definition', () => {
    const { macros, headerFiles } = tokenize(
      '# 1 "unit.c"\n# 1 "<built-in>" 1\n# 1 "<command line>" 1\n# 1 "unit.c" 2\n# 1 "a b.h" 1\n#define A 1\n#define F(x, y) ((x)+(y))\n#define B\n#undef A\n#define A "t\\"x" 2\n# 2 "unit.c" 2\n# 1 "sub.h" 1\n',
    )
    expect(
      [...macros.values()].map(({ name, parameters, body, place }) => [name, parameters, body, place.line]),
    ).toEqual([
      ['F', 'x, y', '((x)+(y))', 2],
      ['B', undefined, '', 3],
      ['A', undefined, '"t\\"x" 2', 5],
    ])
    expect([...headerFiles]).toEqual(['a b.h', 'sub.h'])
  })
})
