import { describe, expect, it } from 'vitest'
import { ArgumentError, tensor } from '@tenon/core'
import type { PackedFuncTypeError } from '../src/index.ts'
import { dataType, PackedFunc, packedFunc, registerGlobal, removeGlobal, t } from '../src/index.ts'
import { kernel, live, thrownBy } from './support.ts'

const echo = kernel('echo')
const typeIndex = kernel('type_index')
const sum = kernel('sum')

describe('a typed function as a packed function', () => {
  const typed = sum.typed([t.float, t.float], t.float, 'sum')

  it('is the same native function, as an argument, in a container, as a result and in the registry', async () => {
    expect([typed instanceof PackedFunc, typed.sameAs(sum), String(typed)]).toEqual([true, true, '[ffi.Function sum]'])
    expect(kernel('call')(typed, 1, 2)).toBe(3)
    expect(await kernel('call').async(typed, 1, 2)).toBe(3)
    expect((echo(typed) as PackedFunc).sameAs(sum)).toBe(true)
    using list = echo([typed]) as unknown as { get(index: number): PackedFunc } & Disposable
    expect(list.get(0).sameAs(sum)).toBe(true)
    expect(packedFunc(() => typed)()).toEqual(expect.toSatisfy((value: PackedFunc) => value.sameAs(sum)))
    expect(registerGlobal('test.typed.sum', typed as never)).toBe(typed)
    expect(removeGlobal('test.typed.sum')).toBe(true)
  })

  it('has a reference of its own', () => {
    const before = live()
    const own = packedFunc((x: number) => x + 1)
    const checked = own.typed([t.int], t.int)
    own.close()
    expect([own.isAlive, checked.isAlive, checked(1)]).toEqual([false, true, 2])
    checked.close()
    expect(() => checked(1)).toThrow('the native object is closed already')
    expect(() => own.typed([t.int], t.int)).toThrow('the native object is closed already')
    expect(live()).toEqual(before)
  })

  it('returns an error of the kernel from tryCall(), and throws that of a wrong type', () => {
    const parse = packedFunc((text: string) => {
      if (text === '') throw new RangeError('no digits')
      return Number(text)
    }).typed([t.str], t.int)
    expect(parse.tryCall('12')).toEqual({ ok: true, value: 12 })
    expect(parse.tryCall('')).toMatchObject({ ok: false, sentence: 'no digits' })
    expect(() => parse.tryCall(5 as never)).toThrow('Expected `str` but got `int`')
    expect(() => parse.tryCall('1.5')).toThrow('Expected `int` but got `float`')
  })

  it('may get other types', () => {
    const bigint = PackedFunc.prototype.typed.call(typed, [t.int, t.int], t.bigint)
    expect(bigint(1, 2)).toBe(3n)
  })
})

describe('a typed function', () => {
  it('converts its arguments', () => {
    expect(typeIndex.typed([t.float], t.int)(3)).toBe(3)
    expect(typeIndex.typed([t.int], t.int)(3n)).toBe(1)
    expect(sum.typed([t.int, t.int, t.int], t.int)(1, 2, 3)).toBe(6)
    expect(sum.typed([t.int, t.int, t.int, t.float], t.float)(1, 2, 3, 4)).toBe(10)
    expect(sum.typed([], t.int)()).toBe(0)
  })

  it('an int is accepted as a float', () => {
    expect(sum.typed([t.float, t.float], t.float)(1, 2)).toBe(3)
    expect(echo.typed([t.int], t.float)(2)).toBe(2)
  })

  it('only optional types accept null', () => {
    expect(echo.typed([t.optional(t.str)], t.optional(t.str))(null)).toBeNull()
    expect(() => echo.typed([t.str], t.any)(null as never)).toThrow('Expected `str` but got `None`')
    expect(() => echo.typed([t.any], t.str)(null)).toThrow('Expected `str` but got `None`')
  })

  it('converts its result', () => {
    expect(echo.typed([t.int], t.bigint)(5)).toBe(5n)
    expect(echo.typed([t.int], t.float)(2n ** 60n)).toBe(2 ** 60)
    expect(echo.typed([t.int], t.bool)(1)).toBe(true)
    expect(echo.typed([t.array(t.array(t.str))], t.array(t.array(t.str)))([['a'], []])).toEqual([['a'], []])
    const map = new Map([
      ['one', 1],
      ['two', 2],
    ])
    expect(echo.typed([t.map(t.str, t.int)], t.map(t.str, t.int32))(map)).toEqual(map)
    expect(echo.typed([t.any], t.none)('x')).toBeNull()
    expect(echo.typed([t.optional(t.int)], t.optional(t.int))()).toBeNull()
  })

  it("a wrong type of an argument throws tvm-ffi's message", () => {
    const error = thrownBy(() => sum.typed([t.int, t.str], t.float, 'scale')(1, 2.5 as never)) as PackedFuncTypeError
    expect(error).toBeInstanceOf(TypeError)
    expect(error.sentence).toBe(
      'Mismatched type on argument #1 when calling: `scale(0: int, 1: str) -> float`. Expected `str` but got `float`',
    )
  })

  it('the number of arguments is checked before any conversion', () => {
    const error = thrownBy(() => (sum.typed([t.int], t.int, 'f') as (...values: unknown[]) => unknown)('x', 'y'))
    expect((error as PackedFuncTypeError).sentence).toBe(
      'Mismatched number of arguments when calling: `f(0: int) -> int`. Expected 1 but got 2 arguments',
    )
  })

  it('an anonymous function has no name in messages', () => {
    expect(() => sum.typed([t.int], t.int)('x' as never)).toThrow('`(0: int) -> int`')
  })

  it('throws if the result has another type', () => {
    expect(() => echo.typed([t.any], t.int)('text')).toThrow('Expected `int` but got `str`')
  })

  it('narrow integers are checked, not truncated', () => {
    const narrow = echo.typed([t.int32], t.int32)
    expect(narrow(2 ** 31 - 1)).toBe(2 ** 31 - 1)
    expect(() => narrow(2 ** 40)).toThrow('Expected `int32`')
    expect(() => echo.typed([t.any], t.int32)(2 ** 40)).toThrow('Expected `int32`')
    expect(() => echo.typed([t.uint8], t.any)(256)).toThrow('Expected `uint8`')
  })

  it.each([
    ['int8', -(2 ** 7), 2 ** 7 - 1],
    ['uint8', 0, 2 ** 8 - 1],
    ['int16', -(2 ** 15), 2 ** 15 - 1],
    ['uint16', 0, 2 ** 16 - 1],
    ['int32', -(2 ** 31), 2 ** 31 - 1],
    ['uint32', 0, 2 ** 32 - 1],
  ] as const)('the range of %s is %d to %d, for arguments and for results', (name, low, high) => {
    const argument = echo.typed([t[name]], t.any)
    const result = echo.typed([t.any], t[name])
    const element = echo.typed([t.any], t.array(t[name]))
    for (const value of [low, low + 1, high - 1, high]) {
      expect([argument(value), result(value), element([value])]).toEqual([value, value, [value]])
    }
    for (const value of [low - 1, high + 1]) {
      for (const call of [() => argument(value), () => result(value), () => element([value])]) {
        expect(call).toThrow(/Expected `.*int/)
      }
    }
  })

  it.each([
    ['an int', t.int, 1.5],
    ['an int', t.int, true],
    ['an int', t.int, 2n ** 64n],
    ['a float', t.float, '1'],
    ['a bool', t.bool, 1],
    ['text, not bytes', t.str, new Uint8Array(1)],
    ['bytes, not text', t.bytes, 'x'],
    ['a tensor', t.tensor, [1]],
    ['a function', t.func, 1],
    ['an array', t.array(t.int), [1, 'x']],
    ['a map', t.map(t.str, t.int), new Map([['x', 'y']])],
    ['none', t.none, 0],
  ])('accepts only %s', (_, type, value) => {
    expect(() => (echo.typed([type], t.any) as (given: unknown) => unknown)(value)).toThrow(
      'Mismatched type on argument #0',
    )
  })

  it('names the type of the value that it refuses', () => {
    const refuse = echo.typed([t.none], t.any) as (value: unknown) => unknown
    for (const [value, name] of [
      [true, 'bool'],
      [1, 'int'],
      [1.5, 'float'],
      ['x', 'str'],
      [dataType('int8'), 'DataType'],
      [tensor('int8', [1]), 'ffi.Tensor'],
      [echo, 'ffi.Function'],
      [echo([1]), 'ffi.Array'],
      [new Map(), 'ffi.Map'],
    ] as const) {
      expect(() => refuse(value)).toThrow(`but got \`${name}\``)
    }
  })

  it('refuses parameters and results that are not types', () => {
    const error = thrownBy(() => echo.typed([t.int, undefined as never], t.int)) as ArgumentError
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error.sentence).toBe('parameters[1] must be a type such as t.int, got undefined')
    expect(error.details).toMatchObject({ expected: 'a type such as t.int', received: 'undefined' })
    expect(() => echo.typed([], Number as never)).toThrow('result must be a type such as t.int')
    expect(() => echo.typed(t.int as never, t.int)).toThrow('parameters must be an array')
  })

  it('names a bigint outside int64', () => {
    expect(() => echo.typed([t.int], t.any)(2n ** 63n)).toThrow('but got `an int beyond 64 bits`')
  })

  it('accepts functions of TypeScript', () => {
    const apply = packedFunc((f: PackedFunc, x: number) => f(x)).typed([t.func, t.int], t.int)
    expect(apply((x: number) => x + 1, 1)).toBe(2)
  })
})
