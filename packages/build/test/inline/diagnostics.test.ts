import { expect, test } from 'vitest'

import { describeErrors, parseDiagnostics } from '../../src/inline/diagnostics.ts'

const path = '/cache/unfinished/1/source.c'
const parse = (text: string) => parseDiagnostics(text, path, 'kernels.ts')

test('messages of gcc, clang and zig have a place, a severity and a text', () => {
  const output = [
    "kernels.ts: In function 'f':",
    "kernels.ts:9:19: error: 'nope' undeclared (first use in this function)",
    '    9 |   const float a = nope;',
    '      |                   ^~~~',
    'kernels.ts:9:19: note: each undeclared identifier is reported only once',
    "/usr/include/x.h:3:1: warning: unused variable 'y' [-Wunused-variable]",
    'kernels.ts:1:10: fatal error: tenon/none.h: No such file or directory',
    'C:\\Users\\me\\a.h:4:5: error: in a header on Windows',
    'compilation terminated.',
  ].join('\n')
  expect(parse(output)).toEqual([
    {
      severity: 'error',
      message: "'nope' undeclared (first use in this function)",
      file: 'kernels.ts',
      line: 9,
      column: 19,
    },
    {
      severity: 'note',
      message: 'each undeclared identifier is reported only once',
      file: 'kernels.ts',
      line: 9,
      column: 19,
    },
    {
      severity: 'warning',
      message: "unused variable 'y' [-Wunused-variable]",
      file: '/usr/include/x.h',
      line: 3,
      column: 1,
    },
    {
      severity: 'error',
      message: 'tenon/none.h: No such file or directory',
      file: 'kernels.ts',
      line: 1,
      column: 10,
    },
    { severity: 'error', message: 'in a header on Windows', file: 'C:\\Users\\me\\a.h', line: 4, column: 5 },
  ])
})

test('messages of nvcc and of the linker have a line', () => {
  const output = [
    'kernels.ts(9): error: identifier "nope" is undefined',
    'kernels.ts(3): warning #177-D: variable "x" was declared but never referenced',
    "/usr/bin/ld: /tmp/source-1.o: in function `f':",
    `${path}:2: undefined reference to \`nope'`,
    `/usr/bin/ld: /tmp/a.o: ${path}:3: undefined reference to \`other'`,
  ].join('\r\n')
  expect(parse(output)).toEqual([
    { severity: 'error', message: 'identifier "nope" is undefined', file: 'kernels.ts', line: 9, column: 0 },
    {
      severity: 'warning',
      message: 'variable "x" was declared but never referenced',
      file: 'kernels.ts',
      line: 3,
      column: 0,
    },
    { severity: 'error', message: "undefined reference to `nope'", file: 'kernels.ts', line: 2, column: 0 },
    { severity: 'error', message: "undefined reference to `other'", file: 'kernels.ts', line: 3, column: 0 },
  ])
})

test('text that is no message is ignored, whatever its length', () => {
  const texts = ['', 'a:b:c', ':1:1: error', 'x'.repeat(1 << 20), ': '.repeat(1 << 18), `${'a:1'.repeat(1 << 18)}: err`]
  expect(parse(texts.join('\n'))).toEqual([])
})

test('the description shows the line of the first error, and lists five errors', () => {
  const source = ['int a;', '\tfloat b = nope;', ...Array.from({ length: 8 }, (_, i) => `x${i};`)].join('\n')
  const errors = [2, 3, 4, 5, 6, 7, 8].map((line) => `kernels.ts:${line}:12: error: wrong ${line}`)
  expect(describeErrors(parse(errors.join('\n')), source, 'kernels.ts')).toBe(
    [
      'kernels.ts:2:12: wrong 2',
      '  2 |  float b = nope;',
      '    |            ^',
      'kernels.ts:3:12: wrong 3',
      'kernels.ts:4:12: wrong 4',
      'kernels.ts:5:12: wrong 5',
      'kernels.ts:6:12: wrong 6',
      'and 2 more',
    ].join('\n'),
  )
})

test('the description shows a part of a long line, and no control characters', () => {
  const source = `${'a'.repeat(500)}\u001B[31m${'b'.repeat(500)}`
  const [sentence, line, mark] = describeErrors(parse('kernels.ts:1:502: error: no'), source, 'kernels.ts')!.split('\n')
  expect(sentence).toBe('kernels.ts:1:502: no')
  expect(line!.length).toBeLessThan(140)
  expect(line).toContain('aaa [31mbbb')
  expect(line![mark!.indexOf('^')]).toBe('[')
})

test('errors in headers have no line, and warnings are no errors', () => {
  expect(describeErrors(parse('/usr/x.h:1:1: error: no'), 'int a;', 'kernels.ts')).toBe('/usr/x.h:1:1: no')
  expect(describeErrors(parse('kernels.ts:1:1: warning: no'), 'int a;', 'kernels.ts')).toBeUndefined()
})
