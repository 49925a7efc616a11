import { describe, expect, test } from 'vitest'

import { namesInBodies } from '../src/checks/c-files.ts'
import { findUpwardUses, findWrongIncludes, type Topics } from '../src/checks/topics.ts'
import { makePackage, runBin } from './fixture.ts'

const topics: Topics = {
  directory: 'csrc',
  shared: 'csrc/include',
  levels: [['base'], ['call'], ['xla', 'tvm']],
}

const including = (path: string, ...includes: string[]): string[] => findWrongIncludes([{ path, includes }], topics)

describe('findWrongIncludes', () => {
  test('accepts headers of the same topic, shared headers of lower topics, and headers of no topic', () => {
    expect(including('csrc/xla/a.c', 'csrc/xla/internal.h', 'csrc/include/base/lock.h', 'include/kernel.h')).toEqual([])
    expect(including('csrc/xla/posix/a.c', 'csrc/xla/internal.h', 'csrc/include/xla/b.h')).toEqual([])
    expect(including('csrc/call/a.c', 'csrc/include/tenon.h', 'csrc/include/status.def')).toEqual([])
    expect(including('csrc/test/a.c', 'csrc/xla/internal.h', 'csrc/include/tenon_xla.h')).toEqual([])
  })

  test('refuses private headers of other topics, also of lower ones', () => {
    expect(including('csrc/xla/a.c', 'csrc/base/posix/lock.h')).toEqual([
      'csrc/xla/a.c must not include csrc/base/posix/lock.h, which is private to base. Move it to csrc/include/base.',
    ])
  })

  test('refuses shared headers of higher topics and of topics of the same level', () => {
    expect(including('csrc/call/a.c', 'csrc/include/tenon_xla.h')).toEqual([
      'csrc/call/a.c must not include csrc/include/tenon_xla.h, because call is not above xla',
    ])
    expect(including('csrc/include/base/a.h', 'csrc/include/call/b.h')).toEqual([
      'csrc/include/base/a.h must not include csrc/include/call/b.h, because base is not above call',
    ])
    expect(including('csrc/tvm/a.c', 'csrc/include/xla/b.h')).toEqual([
      'csrc/tvm/a.c must not include csrc/include/xla/b.h, because tvm is not above xla',
    ])
  })
})

test('findUpwardUses() names symbols that a file of a lower topic declares by hand', () => {
  const file = (path: string, defined: string[], used: string[]) => ({ path, defined, used, includes: [] })
  const files = [
    file('csrc/base/a.c', ['a'], ['x', 'malloc']),
    file('csrc/xla/x.c', ['x'], ['a', 't']),
    file('csrc/tvm/t.c', ['t'], ['a']),
    file('csrc/fixture/f.c', [], ['x']),
  ]
  expect(findUpwardUses(files, topics)).toEqual([
    'csrc/base/a.c must not use x of csrc/xla/x.c, because base is not above xla',
    'csrc/xla/x.c must not use t of csrc/tvm/t.c, because xla is not above tvm',
  ])
})

test('namesInBodies() lists names in macros and in braces, and none of comments, texts and declarations', () => {
  const header = [
    '/* { comment } */ // { comment }',
    'extern "C" {',
    'int declared(int);',
    '#define MACRO(x) used_in_macro(x) \\',
    '  in_second_line',
    '#if defined(condition)',
    '#endif',
    'static inline int inlined(int parameter) { return used_inline("text { other }"); }',
    '}',
  ]
  expect(namesInBodies(header.join('\n')).toSorted()).toEqual([
    'in_second_line',
    'return',
    'used_in_macro',
    'used_inline',
    'x',
  ])
})

test('tenon-build refuses a package whose topics include private headers of each other', () => {
  const fixture = makePackage(
    {
      topics,
      targets: [{ name: 'x', kind: 'shared', sources: ['csrc/*/*.c'], includes: ['csrc/include'], imports: [] }],
    },
    {
      'csrc/base/lock.h': '#pragma once\n',
      'csrc/call/a.c': '#include "../base/lock.h"\nint a(void);\nint a(void) { return 1; }\n',
    },
  )
  const { code, stderr } = runBin('build', fixture)
  expect(code).toBe(1)
  expect(stderr).toBe(
    'csrc/call/a.c must not include csrc/base/lock.h, which is private to base. Move it to csrc/include/base.\n',
  )
  fixture.write('csrc/include/base/lock.h', '#pragma once\n')
  fixture.write('csrc/call/a.c', '#include "base/lock.h"\nint a(void);\nint a(void) { return 1; }\n')
  expect(runBin('build', fixture).code).toBe(0)
})
