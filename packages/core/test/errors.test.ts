import { describe as group, expect, test } from 'vitest'
import type * as errorKinds from '../src/errors/kinds.ts'
import {
  AlignmentError,
  AllocationError,
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  GuardError,
  LoadError,
  NativeError,
  ReadOnlyError,
  UnsupportedError,
  ScopeClosedError,
  ScopeHeldError,
  TenonError,
  WrongThreadError,
} from '@tenon/core'
import { checkAlignment, checkName, checkSize, describe } from '@tenon/core/internal'

const kinds = [
  ScopeClosedError,
  ScopeHeldError,
  WrongThreadError,
  BoundsError,
  AlignmentError,
  ReadOnlyError,
  AllocationError,
  LoadError,
  NativeError,
  UnsupportedError,
  GuardError,
  ArgumentError,
  ArgumentRangeError,
]

group('kinds of errors', () => {
  test.each(kinds)('$name is a TenonError with its own name and code', (Kind) => {
    const error = new Kind('expected this, got that', { hint: 'do this', details: { a: 1 }, cause: 'why' })
    expect(error).toBeInstanceOf(TenonError)
    expect(error).toBeInstanceOf(Kind)
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe(Kind.name)
    expect(error.code).toMatch(/^TENON_[A-Z_]+$/)
    expect(error.details).toEqual({ a: 1 })
    expect(error.cause).toBe('why')
    expect(error.walk()).toBe('why')
    expect(error.message.endsWith(`See: ${error.documentation}`)).toBe(true)
    expect(error.sentence).toBe('expected this, got that')
    expect(error.message.split('\n')).toEqual([
      'expected this, got that',
      'Hint: do this',
      expect.stringMatching(/^See: npx tenon explain TENON_[A-Z_]+$/),
    ])
    expect(error.stack).toContain(Kind.name)
  })

  test('no kind is taken for another', () => {
    for (const Kind of kinds) {
      const error = new Kind('x')
      const recognised = kinds.filter((Other) => error instanceof Other)
      expect(recognised).toEqual(Kind === ArgumentRangeError ? [ArgumentError, ArgumentRangeError] : [Kind])
    }
  })

  test("JavaScript's own kinds recognise them", () => {
    for (const Kind of [BoundsError, AllocationError, ArgumentRangeError])
      expect(new Kind('x')).toBeInstanceOf(RangeError)
    for (const Kind of [ReadOnlyError, ArgumentError]) expect(new Kind('x')).toBeInstanceOf(TypeError)
    expect(new LoadError('x')).not.toBeInstanceOf(RangeError)
  })

  test('an error of another installed copy is recognised', async () => {
    const copy: string = '../src/errors/kinds.ts?copy'
    const other = (await import(/* @vite-ignore */ copy)) as typeof errorKinds
    expect(other.BoundsError).not.toBe(BoundsError)
    expect(new other.BoundsError('x')).toBeInstanceOf(BoundsError)
    expect(new BoundsError('x')).toBeInstanceOf(other.BoundsError)
    expect(new other.BoundsError('x')).not.toBeInstanceOf(LoadError)
  })

  test("a user's subclass is compared as usual", () => {
    class Mine extends BoundsError {}
    expect(new Mine('x')).toBeInstanceOf(BoundsError)
    expect(new Mine('x')).toBeInstanceOf(Mine)
    expect(new BoundsError('x')).not.toBeInstanceOf(Mine)
  })

  test('values that are no objects are no errors', () => {
    for (const value of [null, undefined, 1, 'x', Symbol('x')])
      expect((value as unknown) instanceof TenonError).toBe(false)
  })
})

group('checkSize', () => {
  test.each([
    [0, 0],
    [1, 1],
    [2 ** 31, 2 ** 31],
    [2 ** 32, 2 ** 32],
    [2 ** 53 - 1, 2 ** 53 - 1],
    [16n, 16],
    [2n ** 53n - 1n, 2 ** 53 - 1],
  ])('takes %s', (value, expected) => expect(checkSize(value, 'byteSize')).toBe(expected))

  test.each([NaN, 0.5, -1, -Infinity, Infinity, 2 ** 53, -1n, 2n ** 53n])('refuses %s as out of range', (value) => {
    expect(() => checkSize(value, 'byteSize')).toThrow(ArgumentRangeError)
    expect(() => checkSize(value, 'byteSize')).toThrow(
      /^byteSize must be a whole number of bytes from 0 to 2\^53 - 1, got /,
    )
  })

  test.each([null, undefined, '1', {}, [], true, Symbol('s'), () => 1])('refuses %s as no number', (value) => {
    expect(() => checkSize(value, 'byteSize')).toThrow(TypeError)
    expect(() => checkSize(value, 'byteSize')).toThrow(ArgumentError)
  })
})

test.each([0, 3, 12, 2 ** 31, 2 ** 32, -8, 1.5, NaN])('checkAlignment refuses %s', (value) => {
  expect(() => checkAlignment(value)).toThrow(ArgumentRangeError)
})

test.each([1, 2, 16, 64, 4096, 2 ** 30])('checkAlignment takes %s', (value) =>
  expect(checkAlignment(value)).toBe(value),
)

test.each(['', null, undefined, 3, {}])('checkName refuses %s', (value) => {
  expect(() => checkName(value, 'name')).toThrow(ArgumentError)
})

test.each([
  [null, 'null'],
  [undefined, 'undefined'],
  [-0, '-0'],
  [5n, '5n'],
  ['a"b', '"a\\"b"'],
  ['x'.repeat(70), `"${'x'.repeat(57)}"... (70 characters)`],
  [[1, 2], 'an array of length 2'],
  [new Float32Array(3), 'Float32Array(3)'],
  [{}, 'an object'],
  [Object.create(null), 'an object'],
  [new Map(), 'an object of class Map'],
  [function f() {}, 'the function f'],
  [Symbol('s'), 'Symbol(s)'],
])('describe(%s) is %s', (value, text) => expect(describe(value)).toBe(text))

test('describe never throws', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const throwing = {
    get constructor(): never {
      throw new Error('mine')
    },
  }
  for (const value of [proxy, throwing]) expect(describe(value)).toBe('an object that cannot be read')
  expect(describe(Object.defineProperty(() => {}, 'name', { value: Symbol('s') }))).toBe(
    'a function that cannot be read',
  )
})
