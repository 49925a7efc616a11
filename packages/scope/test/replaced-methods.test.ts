import { ArgumentRangeError } from '@tenon/core'
import { expect, test } from 'vitest'
import { NativeScope, toCString } from '../src/index.ts'

const methods = Buffer.prototype as unknown as { utf8Write: (...parameters: never[]) => unknown }

test('a C string is refused while utf8Write() returns wrong sizes, and the memory of other scopes stays', () => {
  const before = methods.utf8Write
  for (const size of [-1, -60, 151, 5000, 2 ** 31, NaN, 1.5, '8']) {
    const scopes = [1, 2, 3].map(() => NativeScope.ofConfined())
    const [first, second, third] = scopes.map((scope) => scope.allocate(64).fill(7))
    methods.utf8Write = () => size
    try {
      expect(() => toCString('é'.repeat(50), scopes[1]!)).toThrow(ArgumentRangeError)
    } finally {
      methods.utf8Write = before
    }
    scopes[1]!.close()
    for (let i = 0; i < 64; i++) expect([first!.getInt8(i), third!.getInt8(i)]).toEqual([7, 7])
    expect(second!.lifetime.isAlive).toBe(false)
    scopes[0]!.close()
    scopes[2]!.close()
  }
})
