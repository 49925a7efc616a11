import { expect, test } from 'vitest'

import { equivalentReasons } from '../src/equivalents.ts'
import { findMutants } from '../src/find-mutants.ts'
import { mutantKey } from '../src/mutant.ts'
import { render } from '../src/render.ts'
import { loadParser } from '../src/syntax.ts'

const parse = await loadParser()

/** The changes of a function with some statements, as `from -> to`. */
function changesOf(body: string): string[] {
  return findMutants('csrc/base/a.c', `int f(int a, int b) {\n${body}\n}\n`, parse).map(
    ({ from, to }) => `${from} -> ${to || 'nothing'}`,
  )
}

test('a condition is forced, and its boundary is moved', () => {
  expect(changesOf('if (a < b) a(); return 2;')).toEqual([
    'a < b -> 1',
    'a < b -> 0',
    'a < b -> a <= b',
    'a(); -> nothing',
    '2 -> (2 + 1)',
    '2 -> (2 - 1)',
  ])
})

test('an operand of a condition is left out, which finds more than another operator', () => {
  expect(changesOf('if (a == b && !b) return a;')).toEqual(['a == b && !b -> 0', 'a == b -> 1', '!b -> 1'])
  expect(changesOf('if (a == b || b) return a;')).toEqual(['a == b || b -> 1', 'a == b -> 0', 'b -> 0'])
})

test('a loop never runs, but is never made endless', () => {
  expect(changesOf('for (a = 0; a < b; a++) continue;')).toEqual(['0 -> 1', 'a < b -> 0', 'a < b -> a <= b'])
  expect(changesOf('while (a()) b();')).toEqual(['a() -> 0', 'b(); -> nothing'])
})

test('a value is calculated in another way', () => {
  expect(changesOf('return a + b;')).toEqual(['a + b -> a - b'])
  expect(changesOf('return a >= b;')).toEqual(['a >= b -> a > b', 'a >= b -> a < b'])
  expect(changesOf('return ~a & b;')).toEqual(['~a & b -> ~a | b', '~a -> a'])
  expect(changesOf('return !a;')).toEqual(['!a -> !!a'])
  expect(changesOf('return x[a++];')).toEqual(['a++ -> a--'])
  expect(changesOf('a += b;')).toEqual(['a += b; -> nothing', 'a += b -> a -= b'])
})

test('a statement and a jump are removed', () => {
  expect(changesOf('if (a) { b(); return 1; } return 0;')).toContain('return 1; -> nothing')
  expect(changesOf('switch (a) { case 1: b = a; break; }')).toEqual(['b = a; -> nothing', 'break; -> nothing'])
  expect(changesOf('TN_REQUIRE(a > b, "text");')).toEqual([
    'TN_REQUIRE(a > b, "text"); -> nothing',
    'a > b -> a >= b',
    'a > b -> a <= b',
  ])
})

test('code that the compiler evaluates has no mutants', () => {
  expect(changesOf('static int c = 4; int d[8]; _Static_assert(1 < 2, ""); enum { E = 3 };')).toEqual([])
  expect(changesOf('(void)a;')).toEqual([])
  expect(findMutants('csrc/base/a.c', 'static int a = 1 + 2;\n#define B(c) ((c) + 1)\n', parse)).toEqual([])
})

test('mutants of the same code in a function have numbers, and keep their names when lines are added', () => {
  const source = 'int f(void) {\n  g();\n  g();\n}\n'
  const keys = findMutants('csrc/base/a.c', source, parse).map(mutantKey)
  expect(keys).toEqual(['csrc/base/a.c f: g(); -> nothing', 'csrc/base/a.c f: g(); -> nothing (2)'])
  expect(findMutants('csrc/base/a.c', `/* more */\n\n${source}`, parse).map(mutantKey)).toEqual(keys)
})

test('render() keeps the lines, and nests choices', () => {
  const source = 'int f(int a) {\n  if (a < 3)\n    g(a + 1);\n  return a;\n}\n'
  const mutants = findMutants('csrc/base/a.c', source, parse).map((mutant, index) => ({ ...mutant, number: index + 1 }))
  const { text } = render('csrc/base/a.c', source, mutants)
  expect(text).toBe(
    [
      '#include "mutant.h"',
      '#line 1 "csrc/base/a.c"',
      'int f(int a) {',
      '  if ((tn__mutated(1) ? (1) : tn__mutated(2) ? (0) : tn__mutated(3) ? (a <= 3) : !!(a < 3)))',
      '    { if (!tn__mutated(4)) g((tn__mutated(5) ? (a - 1) : (a + (tn__mutated(6) ? (0) : (1))))); }',
      '  return a;',
      '}',
      '',
    ].join('\n'),
  )
})

test('an entry of the list of equivalent mutants must match a mutant', () => {
  const mutants = findMutants('csrc/base/a.c', 'int f(int a) { return a < 2; }', parse)
  const entry = { file: 'csrc/base/a.c', function: 'f', from: 'a < 2', to: 'a <= 2', reason: 'a is odd' }
  const files = new Set(['csrc/base/a.c'])
  expect([...equivalentReasons([entry], mutants, files)]).toEqual([['csrc/base/a.c f: a < 2 -> a <= 2', 'a is odd']])
  expect(() => equivalentReasons([{ ...entry, to: ['a <= 2', 'a > 2'] }], mutants, files)).toThrow(
    'equivalent mutants that do not exist any more:\ncsrc/base/a.c f: a < 2 -> a > 2',
  )
  expect(equivalentReasons([{ ...entry, file: 'csrc/call/b.c' }], mutants, files).size).toBe(0)
})
