import { inspect, promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ArgumentError, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import {
  accept,
  getGlobal,
  legacyFunc,
  NativeObject,
  NativeShape,
  PackedFunc,
  packedFunc,
  PackedFuncTypeError,
  registerClass,
  registerGlobal,
  removeGlobal,
  t,
  typedFunc,
  typedLegacyFunc,
} from '../src/index.ts'
import { kernel, thrownBy } from './support.ts'

const sum = kernel('sum')
const echo = kernel('echo')
const call = kernel('call')

describe('a packed function is a JavaScript function', () => {
  it('takes any number of values', () => {
    expect([sum(), sum(1), sum(1, 2), sum(1, 2, 3), sum(1, 2, 3, 4)]).toEqual([0, 1, 3, 6, 10])
    expect(echo(undefined)).toBeNull()
  })

  it('is an instance of PackedFunc and NativeObject, and not a constructor', () => {
    expect(typeof sum).toBe('function')
    expect(sum).toBeInstanceOf(PackedFunc)
    expect(sum).toBeInstanceOf(NativeObject)
    expect(() => Reflect.construct(sum, [])).toThrow(TypeError)
  })

  it('has methods that refuse objects that are not functions', async () => {
    const list = echo([1, 2]) as NativeObject
    const { tryCall, typed, async: later, with: withOptions } = PackedFunc.prototype
    const wrong = expect.objectContaining({
      code: 'TENON_ARGUMENT',
      sentence: 'the object must be a packed function, got an object of class NativeArray',
    })
    const receiver = list as unknown as PackedFunc
    expect(thrownBy(() => tryCall.call(receiver, 1))).toEqual(wrong)
    expect(thrownBy(() => typed.call(receiver, [], t.any))).toEqual(wrong)
    await expect(later.call(receiver)).rejects.toEqual(wrong)
    await expect(withOptions.call(receiver, {}).async()).rejects.toEqual(wrong)
    const heir = Object.setPrototypeOf(list, PackedFunc.prototype) as PackedFunc
    expect(thrownBy(() => registerGlobal('test.callable.heir', heir))).toBeInstanceOf(ArgumentError)
    expect(() => NativeShape.prototype.toArray.call(heir as never)).toThrow('the object must be a shape')
    heir.close()
    expect(thrownBy(() => tryCall.call(receiver, 1))).toBeInstanceOf(ScopeClosedError)
    await expect(later.call(new Proxy(sum, {}))).rejects.toBeInstanceOf(ScopeClosedError)
  })

  it('has the name by which it was found, or that of its TypeScript function, and the length 0', () => {
    registerGlobal('test.callable.name', () => 1, { override: true })
    const named = [
      sum,
      getGlobal('test.callable.name'),
      packedFunc(function twice() {}),
      typedFunc([], function one() {}),
      typedFunc([], () => 1, { name: 'two' }),
      legacyFunc(function three() {}),
      typedLegacyFunc([], function four() {}),
      typedLegacyFunc([], () => 1, 'five'),
      packedFunc(() => 1),
      echo(sum) as PackedFunc,
    ]
    removeGlobal('test.callable.name')
    const names = ['sum', 'test.callable.name', 'twice', 'one', 'two', 'three', 'four', 'five', '', '']
    expect(named.map(({ name }) => name)).toEqual(names)
    expect(new Set(named.map(({ length }) => length))).toEqual(new Set([0]))
  })

  it('prints as one line, also closed and in an object', () => {
    const lookup = getGlobal('ffi.String')
    expect(inspect(lookup)).toBe('[ffi.Function ffi.String]')
    lookup.close()
    expect(inspect({ lookup })).toBe('{ lookup: [ffi.Function ffi.String, closed] }')
    expect(inspect(packedFunc(() => 1))).toBe('[ffi.Function]')
  })

  it('cannot be cloned for another thread', () => {
    expect(() => structuredClone(sum)).toThrow('could not be cloned')
  })

  it('is passed to native code as itself, and returned as another function over the same object', () => {
    const references = kernel('references')
    const add = packedFunc((a: number, b: number) => a + b)
    expect(references(add)).toBe(1)
    expect(call(add, 1, 2)).toBe(3)
    const again = echo(add) as PackedFunc
    expect(again).not.toBe(add)
    expect([again(3, 4), references(add)]).toEqual([7, 2])
    again.close()
    expect([add(3, 4), references(add)]).toEqual([7, 1])
    expect([add.typeIndex, add.typeKey]).toEqual([68, 'ffi.Function'])
    expect(packedFunc(() => add)()).toBeInstanceOf(PackedFunc)
  })

  it('is registered under a name as itself', () => {
    const add = packedFunc((a: number, b: number) => a + b)
    expect(registerGlobal('test.callable.itself', add)).toBe(add)
    expect(getGlobal('test.callable.itself')(1, 2)).toBe(3)
    removeGlobal('test.callable.itself')
  })

  it('can be the TypeScript function of another packed function', () => {
    expect(packedFunc(sum)(1, 2)).toBe(3)
  })
})

describe('the methods of functions', () => {
  it('call() throws instead of losing the first value', () => {
    // @ts-expect-error the method does not take values
    const error = thrownBy(() => sum.call(1, 2)) as ArgumentError
    expect(error).toBeInstanceOf(ArgumentError)
    expect(error.sentence).toBe('sum must be called as a function, got a call of its method call()')
    expect(error.hint).toContain('Write f(a, b) instead of f.call(a, b)')
    // @ts-expect-error the method does not take values
    expect(() => packedFunc(() => 1).call()).toThrow('the packed function must be called as a function')
  })

  it('apply() takes an array of values', () => {
    const { apply } = sum
    expect(apply).toBe(Function.prototype.apply)
    expect(Reflect.apply(sum, undefined, [1, 2, 3, 4])).toBe(10)
  })

  it('bind() returns a plain function that native code can call', () => {
    const addTwo = sum.bind(undefined, 2)
    expect([addTwo(1), addTwo.name, inspect(addTwo)]).toEqual([3, 'bound sum', '[Function: bound sum]'])
    expect(addTwo).not.toBeInstanceOf(PackedFunc)
    expect(call(addTwo, 40)).toBe(42)
  })

  it('a function that only inherits from PackedFunc counts as closed', () => {
    const bound = Function.prototype.bind.call(sum as () => unknown, undefined) as PackedFunc
    expect(bound).toBeInstanceOf(PackedFunc)
    expect(bound.isAlive).toBe(false)
    expect(() => echo(bound)).toThrow(ScopeClosedError)
    expect(() => bound.close()).toThrow(ScopeClosedError)
  })

  it('util.promisify returns the asynchronous form', async () => {
    const later = promisify(sum) as unknown as typeof sum.async
    expect(await later(1, 2)).toBe(3)
  })
})

describe('with()', () => {
  it('returns the asynchronous form, which can be used again', async () => {
    const form = sum.with({ signal: new AbortController().signal })
    expect(await Promise.all([form.async(1, 2), form.async(1, 2, 3, 4)])).toEqual([3, 10])
    expect(await sum.with({}).async(1)).toBe(1)
  })

  it('rejects with the reason of a signal that is aborted already, without a call', async () => {
    let calls = 0
    const count = packedFunc(() => void calls++, { relay: true })
    await expect(count.with({ signal: AbortSignal.abort(new Error('enough')) }).async()).rejects.toThrow('enough')
    expect(calls).toBe(0)
  })

  it('refuses what is not an option or not a signal', () => {
    expect(() => sum.with({ singal: 1 } as never)).toThrow('must not have the option "singal"')
    expect(() => sum.with({ signal: new AbortController() as never })).toThrow('signal must be an AbortSignal, got')
  })
})

it('the constructor refuses what is not a handle', () => {
  const Made = PackedFunc as unknown as new (...values: unknown[]) => PackedFunc
  for (const values of [[], [{}, 'x'], [68, undefined], ['ffi.Function', null]])
    expect(() => new Made(...values)).toThrow('handle must be that of a native object')
})

describe('a class of functions that a program registers', () => {
  it('is the class of all packed functions, until another one is registered', () => {
    class Named extends PackedFunc {
      hello(): string {
        return `hello ${this() as string}`
      }
    }
    registerClass('ffi.Function', Named as never)
    try {
      const made = packedFunc(() => 'you') as Named
      const echoed = kernel('echo')(made) as Named
      expect([made.hello(), echoed.hello()]).toEqual(['hello you', 'hello you'])
      const others = [getGlobal('ffi.List'), kernel('sum'), legacyFunc(() => {}), made.typed([], t.any)]
      expect(others.map((each) => (each as object) instanceof Named)).toEqual(others.map(() => true))
    } finally {
      registerClass('ffi.Function', PackedFunc as never)
    }
    expect((packedFunc(() => 1) as object) instanceof Named).toBe(false)
  })
})

describe('the asynchronous form of a typed function', () => {
  const add = sum.typed([t.int, t.int], t.bigint, 'add')

  it('takes the same arguments, and converts the result', async () => {
    expect(await add.async(1, 2)).toBe(3n)
    expect(await sum.typed([t.int, t.int, t.int, t.int], t.int).async(1, 2, 3, 4)).toBe(10)
    expect(await echo.typed([t.optional(t.str)], t.optional(t.str)).async()).toBeNull()
    const x = tensor('float32', [2], [1, 2])
    expect(await echo.typed([t.tensor], t.tensor).async(x)).toSatisfy((y: Tensor) => y.toArray()[1] === 2)
  })

  it('rejects for wrong types and counts', async () => {
    await expect(add.async(1, 'x' as never)).rejects.toThrow('Expected `int` but got `str`')
    // @ts-expect-error the second argument is required
    await expect(add.async(1)).rejects.toThrow('but got 1 arguments')
    await expect(echo.typed([t.any], t.int).async('text')).rejects.toBeInstanceOf(PackedFuncTypeError)
  })

  it('takes a signal', async () => {
    const form = add.with({ signal: AbortSignal.abort(new Error('enough')) })
    await expect(form.async(1, 2)).rejects.toThrow('enough')
    expect(inspect(form)).toBe('add(0: int, 1: int) -> int with a signal')
    expect(await add.with({}).async(1, 2)).toBe(3n)
  })

  it('is not printed', () => {
    expect(inspect(add)).toBe('[ffi.Function add]')
    expect(inspect(typedFunc([accept.int], (x) => x))).toBe('[ffi.Function]')
  })
})
