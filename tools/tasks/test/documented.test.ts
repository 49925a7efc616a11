import { describe, expect, test } from 'vitest'

import { findReferenceProblems, findUndocumented } from '../src/checks/documented.ts'
import { findIncompleteReferences } from '../src/checks/references.ts'
import { listSourceFiles } from '../src/checks/source-files.ts'
import { errorCodes, pageOf } from '../src/checks/error-pages.ts'

const files = (index: string, module: string): { path: string; text: string }[] => [
  { path: 'packages/a/src/index.ts', text: index },
  { path: 'packages/a/src/b.ts', text: module },
]

test('findUndocumented() accepts a documented export', () => {
  expect(
    findUndocumented(
      files(
        "export { f, type T } from './b.ts'",
        '/** F. */\nexport function f(): void {}\n/**\n * T.\n */\nexport type T = 1\n',
      ),
    ),
  ).toEqual([])
})

test('findUndocumented() ignores exports of other packages', () => {
  expect(findUndocumented(files("export { f } from '@tenon/core'", ''))).toEqual([])
})

test.each([
  ["export { f } from './b.ts'", 'export function f(): void {}\n'],
  ["export { f } from './b.ts'", '// not a doc comment\nexport const f = 1\n'],
  ["export { f } from './b.ts'", '/** G. */\nexport const g = 1\nexport const f = 2\n'],
  ["export { f } from './c.ts'", ''],
])('findUndocumented() reports %s of %s', (index, module) => {
  expect(findUndocumented(files(index, module))).toEqual([expect.stringContaining('of f, which')])
})

test('findUndocumented() refuses export *', () => {
  expect(findUndocumented(files("export * from './b.ts'", ''))).toEqual([expect.stringContaining('export by name')])
})

describe('findIncompleteReferences()', () => {
  const problemsOf = (module: string, other = ''): string[] =>
    findIncompleteReferences(
      [...files("export { f } from './b.ts'", module), { path: 'packages/a/src/c.ts', text: other }],
      (path) => path.endsWith('index.ts'),
    )

  test.each([
    [
      'a type that its file exports and documents',
      '/** T. */\nexport interface T {}\nexport declare function f(x: T): void',
    ],
    ['a type parameter', 'export declare function f<T, U extends T>(x: T): { [K in keyof T]: [K, U] }'],
    ['a name of the language', 'export declare function f(x: Promise<Map<string, symbol>>): void'],
    ['a helper from which an alias is computed', 'type T<X> = X[]\nexport type f<X> = T<X> | undefined'],
    ['a type in the body of a function', 'interface T {}\nexport function f(): void { const x: T = {} as T; g(x) }'],
    [
      'a private or internal member',
      'interface T {}\nexport class f { #x: T; private y: T; /** @internal */ z(): T {} }',
    ],
    [
      'the implementation of an overload',
      'interface T {}\nexport function f(x: 1): void\nexport function f(x: T): void {}',
    ],
    ['a link to a name of the file', 'const g = 1\n/** See {@link g}. */\nexport const f = 1'],
    ['a link to a name of an entry', '/** See {@link f.async}. */\nexport const f = 1'],
    [
      'a link to a member',
      '/** F. */\nexport interface f {\n  readonly x: 1\n  /** After {@link x}. */\n  readonly y: 1\n}',
    ],
  ])('accepts %s', (_, module) => {
    expect(problemsOf(module)).toEqual([])
  })

  test.each([
    ['a parameter', 'interface T {}\nexport declare function f(x: readonly T[]): void'],
    ['a result', 'interface T {}\nexport async function f(): Promise<T> {}'],
    ['a property', 'class T {}\nexport interface f { readonly x?: T }'],
    ['a method', 'type T = 1\nexport class f { run(x: T): void {} }'],
    ['a constant', 'interface T {}\nexport const f: ReadonlySet<T> = new Set()'],
    ['an implemented interface', 'interface T {}\nexport class f implements T {}'],
    ['the bound of a type parameter', 'interface T {}\nexport declare function f<X extends T>(x: X): void'],
    ['an overload', 'interface T {}\nexport class f { run(x: T): void; run(x: unknown): void {} }'],
    ['an alias', 'interface T {}\nexport type f = T | undefined'],
  ])('reports a type that its file does not export, in %s', (_, module) => {
    expect(problemsOf(module)).toEqual(['packages/a/src/b.ts must export T, which f mentions in packages/a/src/b.ts'])
  })

  test('reports a type without a comment, also of another file and through other types', () => {
    const other = '/** T. */\nexport interface T { readonly u: U }\n\nexport interface U {}'
    expect(problemsOf("import type { T as V } from './c.ts'\nexport declare function f(x: V): void", other)).toEqual([
      'packages/a/src/c.ts must document U, which T mentions in packages/a/src/c.ts',
    ])
  })

  test('reports a link to a name that is not public', () => {
    expect(problemsOf('/** See {@link g}. */\nexport const f = 1')).toEqual([
      'packages/a/src/b.ts must link to a public name, got g in the comment of f',
    ])
  })
})

describe('the reference of each package', async () => {
  const sources = await listSourceFiles(['.ts'])
  const index = sources.filter(({ path }) => /^packages\/[^/]+\/src\/index\.ts$/.test(path)).map(({ path }) => path)
  const others = ['scope/src/bind.ts', 'scope/src/linker.ts', 'serve/src/client.ts', 'nnapi/src/hidl.ts']
  const entries = [...index, ...others.map((path) => `packages/${path}`), 'packages/core/src/koffi.ts']

  test('is complete', () => {
    expect(index.length).toBeGreaterThanOrEqual(12)
    expect(findReferenceProblems(sources)).toEqual([])
  })

  test('must not mention names that are not exported', () => {
    const added = '\ninterface Hidden {}\n/** F. */\nexport declare function visible(x: Hidden): void\n'
    const changed = sources.map(({ path, text }) => ({ path, text: entries.includes(path) ? text + added : text }))
    expect(findReferenceProblems(changed).toSorted()).toEqual(
      entries.map((path) => `${path} must export Hidden, which visible mentions in ${path}`).toSorted(),
    )
  })
})

test('errorCodes() finds the codes of error classes, and pageOf() returns the page of a code', () => {
  const text = "super('TENON_A', x)\nnew TenonError('TENON_B_C', y)\nprocess.env['TENON_NODE']\n"
  const simple =
    "class ReadOnlyError extends SimpleError {\n  static override readonly kind: string = 'ReadOnlyError'\n}"
  expect(errorCodes([{ path: 'x.ts', text: text + simple }])).toEqual(['TENON_A', 'TENON_B_C', 'TENON_READ_ONLY'])
  expect(pageOf('TENON_B_C')).toBe('docs/errors/b-c.md')
})
