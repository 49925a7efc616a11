import { describe, expect, it } from 'vitest'
import { tensor } from '@tenon/core'
import {
  callLegacy,
  callPacked,
  dataType,
  device,
  float,
  int,
  legacyFunc,
  packedFunc,
  type PackedFunc,
  type PackedFuncError,
  tensorView,
  TypeCode,
  typedLegacyFunc,
  type NativeObject,
} from '../src/index.ts'
import { isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const failureOf = (run: () => unknown): [string, string] => {
  const { kind, sentence } = thrownBy(run) as PackedFuncError
  return [kind, sentence]
}

describe('a function that gets TVMArgs', () => {
  it('reads its arguments and sets its result', () => {
    const scale = legacyFunc((args, rv) => rv.set(float(args.at(0).as('double') * args.at(1).as('int32'))))
    expect(scale(1.5, 2)).toBe(3)
    expect(legacyFunc(() => {})()).toBeNull()
  })

  it('distinguishes ints from floats', () => {
    const codes = legacyFunc((args, rv) => rv.set([...args].map(({ typeCode }) => typeCode)))
    const values = codes(3, float(3), true, null, 'x', new Uint8Array(9), dataType('int8'), tensor('int8', [1]))
    expect((values as unknown as { toArray(): unknown }).toArray()).toEqual([
      TypeCode.Int,
      TypeCode.Float,
      TypeCode.Bool,
      TypeCode.Null,
      TypeCode.Str,
      TypeCode.Bytes,
      TypeCode.DataType,
      TypeCode.NDArray,
    ])
  })

  it('reads its arguments by index', () => {
    const first = legacyFunc((args, rv) => rv.set(`${args[0]} ${args[1]} ${Object.keys(args)}`))
    expect(first(3)).toBe('TVMArgValue(int 3) undefined 0')
  })

  it('passes its arguments on with their types', () => {
    const codes = legacyFunc((args, rv) => rv.set([...args].map(({ typeCode }) => typeCode)))
    const forward = legacyFunc((args, rv) => rv.set(callPacked(codes, args).value))
    const values = [3, float(3), true, null, 'x', new Uint8Array(9), dataType('int8'), device('cpu')]
    const own = tensor('int8', [1])
    const read = (target: PackedFunc): unknown =>
      (target(...values, own, tensorView(own), codes) as unknown as { toArray(): unknown }).toArray()
    expect(read(forward)).toEqual(read(codes))
    expect(() => callPacked(codes, [1] as never)).toThrow('args must be the TVMArgs of a legacyFunc, got')
  })

  it('closes a result that is an object', () => {
    const echo = kernel('echo')
    const before = live()
    const made = callLegacy(echo, [1, 2])
    const list = made.value as NativeObject
    made.close()
    expect([list.isAlive, made.value, made.typeCode]).toEqual([false, null, TypeCode.Null])
    made[Symbol.dispose]()
    expect(live()).toEqual(before)
    using number = callLegacy(echo, 5)
    expect(number.as('int64')).toBe(5)
  })

  it('throws when it reads a missing argument', () => {
    const second = legacyFunc((args) => void args.at(1))
    expect(failureOf(() => second(1))).toEqual([
      'InternalError',
      'not enough argument passed, 1 passed but request arg[1].',
    ])
  })

  it('refuses a result outside int64', () => {
    const give = legacyFunc((_, rv) => rv.set(2n ** 63n))
    expect(failureOf(() => give())).toEqual([
      'InternalError',
      'an integer must be from -2^63 to 2^63 - 1, got 9223372036854775808',
    ])
    expect(legacyFunc((_, rv) => rv.set(-(2n ** 63n)))()).toBe(-(2n ** 63n))
  })

  it('checks the range of int32 at both ends, and reads modules and objects', () => {
    const read = legacyFunc((args, rv) => rv.set(args.at(0).as('int32')))
    expect([read(2 ** 31 - 1), read(-(2 ** 31))]).toEqual([2 ** 31 - 1, -(2 ** 31)])
    expect(failureOf(() => read(-(2 ** 31) - 1))[1]).toBe(
      'Check failed: value_.v_int64 >= std::numeric_limits<int>::min() (-2147483649 vs. -2147483648) : ',
    )
    const object = legacyFunc((args, rv) => rv.set(args.at(0).as('Object')))
    const x = tensor('int8', [1])
    expect(object(x)).toBe(x)
    expect(object(null)).toBeNull()
    expect(failureOf(() => object(1))[1]).toBe('Expected runtime.Object but got int')
    const module = legacyFunc((args) => void args.at(0).as('Module'))
    expect(failureOf(() => module(() => 1))[1]).toBe(
      'Check failed: type_code_ == kTVMModuleHandle (10 vs. 9) : expected ModuleHandle but got FunctionHandle',
    )
  })

  it('has a result with a type code before and after it is set', () => {
    const seen: unknown[] = []
    const run = legacyFunc((_, rv) => {
      seen.push(rv.typeCode, rv.as('NDArray'))
      for (const value of [1, 1.5, 2n, float(2), int(3), true, 'x', new Uint8Array(1), undefined, dataType('int8')]) {
        rv.set(value)
        seen.push(rv.typeCode)
      }
      rv.set(float(2))
      seen.push(rv.as('double'), rv.value)
      for (const value of [tensor('int8', [1]), device('cpu'), run, () => 1, [1]]) {
        rv.set(value)
        seen.push(rv.typeCode)
      }
      rv.set('text')
      expect(() => rv.as('int64')).toThrow('expected int but got str')
    })
    expect(callLegacy(run).as('string')).toBe('text')
    expect(seen).toEqual([4, null, 0, 2, 0, 2, 0, 15, 11, 12, 4, 5, 2, float(2), 13, 6, 10, 10, 8])
  })

  it('callLegacy returns a result with its type code', () => {
    const half = packedFunc((x: number) => float(x / 2))
    expect([callLegacy(half, 4).typeCode, callLegacy(half, 4).as('double')]).toEqual([TypeCode.Float, 2])
    expect(() => callLegacy(half, 4).as('int64')).toThrow('expected int but got float')
    expect(callLegacy(packedFunc(() => {})).as('PackedFunc')).toBeNull()
  })

  it('must be a function', () => {
    expect(() => legacyFunc(3 as never)).toThrow('run must be a function, got 3')
  })
})

describe('a typed function of TVM to 0.20', () => {
  const repeat = typedLegacyFunc(['string', 'int32'], (text, count) => text.repeat(count), 'repeat')

  it('converts its arguments', () => {
    expect(repeat('ab', 2)).toBe('abab')
    expect(repeat(dataType('int8'), true)).toBe('int8')
    expect(typedLegacyFunc([], () => {})()).toBeNull()
  })

  it('names the argument that does not convert', () => {
    expect(failureOf(() => repeat('ab', 2.5))).toEqual([
      'InternalError',
      'In function repeat(0: string, 1: int): error while converting argument 1: expected int but got float',
    ])
  })

  it('throws for too few or too many arguments', () => {
    expect(failureOf(() => repeat('ab'))).toEqual([
      'InternalError',
      'Function repeat(0: string, 1: int) expects 2 arguments but 1 were provided',
    ])
    const unnamed = typedLegacyFunc(['int64', 'uint64'], () => {})
    expect(failureOf(() => unnamed(1, 2, 3))).toEqual([
      'InternalError',
      'Function <anonymous> (0: int64_t, 1: uint64_t) expects 2 arguments, but 3 were provided.',
    ])
  })

  it('throws other errors unchanged', () => {
    const mine = new SyntaxError('mine')
    const thrower = typedLegacyFunc(['bool'], () => {
      throw mine
    })
    expect(thrownBy(() => thrower(1))).toBe(mine)
  })
})

if (isOwnLibrary)
  describe('kernels of TVM to 0.20', () => {
    it('call it and get its result', () => {
      const before = live()
      const apply = packedFunc((f: PackedFunc) => f(20))
      const twice = legacyFunc((args, rv) => rv.set(2 * args.at(0).as('int32')))
      expect(apply(twice)).toBe(40)
      expect(kernel('pass', 'packed_legacy_sources')('int 5', twice)).toBe(10)
      expect(failureOf(() => kernel('pass', 'packed_legacy_sources')('str', twice))).toEqual([
        'InternalError',
        'expected int but got str',
      ])
      for (const f of [apply, twice]) f.close()
      expect(live().foreign).toBe(before.foreign)
    })
  })
