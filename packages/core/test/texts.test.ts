import { AllocationError, ArgumentError, NativeLibrary } from '@tenon/core'
import { expect, test } from 'vitest'
import { makeStub } from '../src/native/call/stubs.ts'
import { textFailure } from '../src/native/call/texts.ts'

const libc = NativeLibrary.open('libc.so.6')

test.each([1, 20, 1000, 1017, 1024, 1100, 70_000])(
  'texts of %i characters are passed after calls that were refused',
  (count) => {
    const text = 'x'.repeat(count)
    const compare = libc.function('strncmp', { result: 'int32', parameters: ['text', 'text', 'uint32'] })
    const five = libc.function('strncmp', { result: 'int32', parameters: ['text', 'text', 'uint32', 'text', 'int8'] })
    for (let i = 0; i < 100; i++) {
      expect(compare(text, text, count)).toBe(0)
      expect(() => compare(text, `${text}\0`, 1)).toThrow('argument 2 of strncmp must not contain U+0000')
      expect(() => compare(text, text, -1)).toThrow(ArgumentError)
      expect(() => five(text, text, 1, text, 500)).toThrow(ArgumentError)
      expect(() => five(text, text, 1, `${text}\0`, 5)).toThrow('argument 4 of strncmp must not contain U+0000')
      expect(five(text, text, count, text, 5)).toBe(0)
    }
  },
)

test('a text that a function returns may lie in one of its arguments', () => {
  const strstr = libc.function('strstr', { result: 'text', parameters: ['text', 'text'] })
  for (const count of [1, 400, 1000, 1019, 1020, 1023, 1024, 100_000])
    expect(strstr('x'.repeat(count), 'x')).toBe('x'.repeat(count))
})

test('callbacks that throw, and a full stack, end calls with texts', () => {
  const fail = makeStub(
    { result: 'void', parameters: ['text'] },
    () => {
      throw new RangeError('on purpose')
    },
    {},
    'the result',
  )
  const again = makeStub({ result: 'void', parameters: ['text', 'pointer'] }, () => void recurse(), {}, 'the result')
  const types = ['text', 'text', 'uint64', 'uint64', 'uint64'] as const
  const bsearch = libc.function('bsearch', { result: 'pointer', parameters: types })
  const recurse = (): unknown => bsearch('key', 'elements', 1, 1, again.address)
  expect(() => bsearch('key', 'y'.repeat(5000), 1, 1, fail.address)).toThrow('on purpose')
  expect(recurse).toThrow(RangeError)
  expect(() => bsearch('key', 'elements', 1, 1, fail.address)).toThrow('on purpose')
  fail.close()
  again.close()
})

test('the reason that native code has no memory for texts is an AllocationError', () => {
  expect(textFailure([], ['a'])).toBeInstanceOf(AllocationError)
})
