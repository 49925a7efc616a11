import { describe, expect, test } from 'vitest'

import { findCircles, type ObjectSymbols } from '../src/checks/circles.ts'
import { makePackage, runBin } from './fixture.ts'

const object = (source: string, defined: string[], used: string[]): ObjectSymbols => ({ source, defined, used })

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
})

if (process.platform === 'linux')
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
