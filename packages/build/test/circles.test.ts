import { describe, expect, test } from 'vitest'

import type { CFile } from '../src/checks/c-files.ts'
import { findCircles } from '../src/checks/circles.ts'
import { makePackage, runBin } from './fixture.ts'

const object = (path: string, defined: string[], used: string[], includes: string[] = []): CFile => ({
  path,
  defined,
  used,
  includes,
})

describe('findCircles', () => {
  test('accepts files that use each other in one direction', () => {
    const objects = [
      object('a.c', ['a'], ['b', 'c', 'malloc']),
      object('b.c', ['b'], ['c', 'b']),
      object('c.c', ['c'], []),
    ]
    expect(findCircles(objects)).toEqual([])
  })

  test('names the files of each circle, also of a long one, and not those that only use it', () => {
    const objects = [
      object('user.c', ['user'], ['a']),
      object('a.c', ['a'], ['b']),
      object('b.c', ['b'], ['c']),
      object('c.c', ['c'], ['a', 'leaf']),
      object('leaf.c', ['leaf'], []),
      object('x.c', ['x'], ['y']),
      object('y.c', ['y'], ['x']),
    ]
    expect(findCircles(objects)).toEqual([
      ['a.c', 'b.c', 'c.c'],
      ['x.c', 'y.c'],
    ])
  })

  test('accepts a source and its header, and several sources of one header', () => {
    const files = [
      object('stack.h', [], ['stack_open']),
      object('posix/stack.c', ['stack_open'], [], ['stack.h']),
      object('user.c', ['user'], ['stack_open'], ['stack.h']),
    ]
    expect(findCircles(files)).toEqual([])
  })

  test('names files that include a header of the files that they use', () => {
    const files = [
      object('requests.h', [], []),
      object('requests.c', ['serve'], ['load'], ['requests.h', 'libraries.h']),
      object('libraries.h', [], [], ['requests.h']),
      object('libraries.c', ['load'], [], ['libraries.h']),
    ]
    expect(findCircles(files)).toEqual([['libraries.h', 'requests.h']])
  })

  test('names headers that include each other', () => {
    const files = [object('a.h', [], [], ['b.h']), object('b.h', [], [], ['a.h'])]
    expect(findCircles(files)).toEqual([['a.h', 'b.h']])
  })
})

if (process.platform === 'linux') {
  test('a library whose files use each other in a circle is refused', () => {
    const fixture = makePackage(
      { acyclic: true, targets: [{ name: 'x', kind: 'shared', sources: ['*.c'], imports: [] }] },
      {
        'even.c': 'int odd(int n);\nint even(int n);\nint even(int n) { return n == 0 ? 1 : odd(n - 1); }\n',
        'odd.c': 'int even(int n);\nint odd(int n);\nint odd(int n) { return n == 0 ? 0 : even(n - 1); }\n',
      },
    )
    const { code, stderr } = runBin('build', fixture)
    expect(code).toBe(1)
    expect(stderr).toBe('Files of x use each other in a circle:\n  even.c, odd.c\n')
    fixture.write('odd.c', 'int odd(int n);\nint odd(int n) { return n % 2; }\n')
    expect(runBin('build', fixture).code).toBe(0)
  })

  test('a library whose header uses a file that includes the header is refused', () => {
    const macro = '#define FAIL(text) \\\n  fail(text)\n'
    const inline = 'static inline int end(int code) { return code == 0 ? 0 : fail("failed"); }\n'
    const header = '/* fail() { fail() } */\n#pragma once\nint fail(const char *text);\n'
    const error = '#include "shared.h"\nint fail(const char *text) { return text == 0 ? -1 : 1; }\n'
    const fixture = makePackage(
      { acyclic: true, targets: [{ name: 'x', kind: 'shared', sources: ['*.c'], includes: ['include'], imports: [] }] },
      { 'include/shared.h': header, 'error.c': error },
    )
    expect(runBin('build', fixture).code).toBe(0)
    for (const use of [macro, inline]) {
      fixture.write('include/shared.h', header + use)
      expect(runBin('build', fixture).stderr).toBe(
        'Files of x use each other in a circle:\n  error.c, include/shared.h\n',
      )
    }
    fixture.write('include/shared.h', '#pragma once\n')
    fixture.write('include/error.h', header + macro + inline)
    fixture.write('error.c', error.replace('shared.h', 'error.h'))
    expect(runBin('build', fixture).code).toBe(0)
  })
}
