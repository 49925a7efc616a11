import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { NativeScope, ResourceScope } from '@tenon/scope'
import { Linker, SymbolLookup, type VariadicArgument } from '@tenon/scope/linker'
import fc from 'fast-check'
import { afterAll, expect, expectTypeOf, test } from 'vitest'
import { fuzzBudget } from './support/fuzz-budget.ts'

const libc = SymbolLookup.ofProcess()
const memory = NativeScope.ofConfined()
afterAll(() => memory.close())
const buffer = memory.allocate(4096)
const snprintf = Linker.variadic(libc.get('snprintf'), { result: 'int32', parameters: ['pointer', 'uint64', 'text'] })
const print = (format: string, ...values: VariadicArgument[]): string => {
  snprintf(buffer, 4096, format, ...values)
  return buffer.getString(0)
}

test('arguments have the types that C gives them', () => {
  expect(print('plain')).toBe('plain')
  expect(print('%d %s %.2f %lld', -5, 'größe', 2.5, 2n ** 62n)).toBe('-5 größe 2.50 4611686018427387904')
  expect(print('%d %.1f', true, -0)).toBe('1 -0.0')
  expect(print('%s %s', Buffer.from('buffer\0'), buffer.asSlice(4090))).toBe('buffer ')
  expect(print('%p', null)).toBe('(nil)')
})

test('a pair states the type', () => {
  expect(print('%lu %.1f %s', ['uint64', 2 ** 40], ['float64', 3], ['text', 'text'])).toBe('1099511627776 3.0 text')
  expect(() => print('%d', ['int8', 1])).toThrow('C passes it as int32')
  for (const pair of [['int32'], ['int32', 1, 2], [1, 2], ['nothing', 1], []])
    expect(() => print('%d', pair as never)).toThrow(ArgumentError)
})

test('other arguments are refused', () => {
  for (const value of [undefined, Symbol('s'), () => {}])
    expect(() => print('%d', value as never)).toThrow('a variadic argument must be')
  for (const value of [{}, new ArrayBuffer(1), new Date()])
    expect(() => print('%s', value as never)).toThrow('argument 4 of snprintf')
  expect(() => print('%d', 2 ** 40)).toThrow('argument 4 of snprintf must be a whole number')
  expect(() => print('%s', 'a\0b')).toThrow('argument 4 of snprintf must not contain U+0000')
  // @ts-expect-error: the format is missing
  expect(() => snprintf(buffer, 8)).toThrow('snprintf takes 3 arguments, got 2')
})

test('any lists of types work, also more than are kept', async () => {
  const value = fc.oneof(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }).map((number) => ['%d', number, String(number)] as const),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((number) => ['%lld', number, String(number)] as const),
    fc.stringMatching(/^[a-zé]{0,20}$/).map((text) => ['%s', text, text] as const),
    fc.integer().map((number) => ['%.1f', number + 0.5, (number + 0.5).toFixed(1)] as const),
  )
  fc.assert(
    fc.property(fc.array(value, { maxLength: 20 }), (values) => {
      const format = values.map(([specifier]) => specifier).join(' ')
      expect(print(format, ...values.map(([, given]) => given))).toBe(values.map(([, , text]) => text).join(' '))
    }),
    fuzzBudget,
  )
  expect(await snprintf.async(buffer, 4096, '%s %d', 'later', 7)).toBe(7)
  expect(buffer.getString(0)).toBe('later 7')
})

test('errno is returned, and the signature is checked at once', () => {
  const open = Linker.variadic(
    libc.get('open'),
    { result: 'int32', parameters: ['text', 'int32'] },
    { captureErrno: true },
  )
  expect(open('/no/such/file', 0)).toEqual({ value: -1, errno: 2 })
  const types = { parameters: ['text'], fixedParameters: 1 } as const
  expect(() => Linker.variadic(libc.get('printf'), types)).toThrow('must not have fixedParameters')
  expect(() => Linker.variadic(libc.get('printf'), { parameters: ['none' as never] })).toThrow(ArgumentError)
  expect(String(snprintf)).toBe('snprintf(pointer, uint64, text, ...): int32')
  expect(snprintf.name).toBe('snprintf')
})

test('the library of a function is held and checked', () => {
  const scope = ResourceScope.ofConfined()
  const own = Linker.variadic(SymbolLookup.ofLibrary('libc.so.6', scope).get('snprintf'), {
    result: 'int32',
    parameters: ['pointer', 'uint64', 'text'],
  })
  expect(own(buffer, 10, '%d', 5)).toBe(1)
  scope.close()
  expect(() => own(buffer, 10, '%d', 5)).toThrow(ScopeClosedError)
  expect(() => own(buffer, 10, '%f', 0.5)).toThrow(ScopeClosedError)
})

test('the compiler knows the declared arguments', () => {
  expectTypeOf(snprintf).parameters.toExtend<[unknown, number | bigint, unknown, ...VariadicArgument[]]>()
  expectTypeOf<ReturnType<typeof snprintf>>().toEqualTypeOf<number>()
})
