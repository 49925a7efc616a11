import { expect, test } from 'vitest'

import { findUndocumented } from '../src/checks/documented.ts'
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

test('errorCodes() finds the codes of error classes, and pageOf() returns the page of a code', () => {
  const text = "super('TENON_A', x)\nnew TenonError('TENON_B_C', y)\nprocess.env['TENON_NODE']\n"
  const simple =
    "class ReadOnlyError extends SimpleError {\n  static override readonly kind: string = 'ReadOnlyError'\n}"
  expect(errorCodes([{ path: 'x.ts', text: text + simple }])).toEqual(['TENON_A', 'TENON_B_C', 'TENON_READ_ONLY'])
  expect(pageOf('TENON_B_C')).toBe('docs/errors/b-c.md')
})
