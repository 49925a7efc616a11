import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { ScopeClosedError } from '@tenon/core'
import type { NativeMap, NativeObject, PackedFuncError } from '../src/index.ts'
import { getGlobal, NativeArray, NativeShape, rvalue, shape, type Argument } from '../src/index.ts'
import { isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const echo = kernel('echo')

const byKey = ([a]: readonly unknown[], [b]: readonly unknown[]): number =>
  `${typeof a}${String(a)}` < `${typeof b}${String(b)}` ? -1 : 1

describe('arrays', () => {
  const array = echo.call([1, 'two', null, [3.5]]) as NativeArray

  it('have elements', () => {
    expect(array).toBeInstanceOf(NativeArray)
    expect(array.size).toBe(4)
    expect(array.get(1)).toBe('two')
    expect([...array].slice(0, 3)).toEqual([1, 'two', null])
    expect((array.get(3) as NativeArray).toArray()).toEqual([3.5])
    expect(array.typeKey).toBe('ffi.Array')
  })

  it('have bounds', () => {
    expect(() => array.get(4)).toThrow(RangeError)
    expect(() => array.get(-1)).toThrow('Index -1 out of bounds 4')
  })

  it('pass as they are', () => {
    expect((echo.call(array) as NativeArray).handle).toBe(array.handle)
  })

  it('lists can change', () => {
    const list = getGlobal('ffi.List').call(1, 2, 3) as NativeArray
    getGlobal('ffi.ListAppend').call(list, 'four')
    getGlobal('ffi.ListInsert').call(list, 0, 'zero')
    getGlobal('ffi.ListSetItem').call(list, 1, 'one')
    expect(list.toArray()).toEqual(['zero', 'one', 2, 3, 'four'])
    expect(getGlobal('ffi.ListPop').call(list, 4)).toBe('four')
    getGlobal('ffi.ListErase').call(list, 0)
    expect(list.toArray()).toEqual(['one', 2, 3])
    expect(getGlobal('ffi.ListContains').call(list, 'one')).toBe(true)
    expect(getGlobal('ffi.ListContains').call(list, 'two')).toBe(false)
    for (let i = 0; i < 100; i++) getGlobal('ffi.ListAppend').call(list, i)
    expect(list.size).toBe(103)
    getGlobal('ffi.ListClear').call(list)
    expect(list.toArray()).toEqual([])
    expect(() => getGlobal('ffi.ListPop').call(list, 0)).toThrow('out of bounds')
  })
})

describe('maps', () => {
  it('have entries in order', () => {
    const entries = Array.from({ length: 50 }, (_, i) => [i % 2 === 0 ? i : `key number ${i}`, i] as const)
    const map = echo.call(new Map<Argument, Argument>(entries)) as NativeMap
    expect(map.size).toBe(50)
    expect([...map]).toEqual(entries)
    expect(map.get('key number 49')).toBe(49)
    expect(map.has(48)).toBe(true)
    expect(map.has(47)).toBe(false)
    const error = thrownBy(() => map.get('none')) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual(['KeyError', 'key is not in Map'])
    expect([...(echo.call(new Map()) as NativeMap)]).toEqual([])
  })

  it('rule 8: find text whatever its form', () => {
    const map = echo.call(
      new Map([
        ['short', 1],
        ['longer than seven', 2],
      ]),
    ) as NativeMap
    expect(map.get('short')).toBe(1)
    expect(map.get('longer than seven')).toBe(2)
  })

  it('behave as Maps of JavaScript do, whatever is done to them', () => {
    const key = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.string({ maxLength: 10 }))
    const step = fc.oneof(fc.record({ set: key, value: fc.integer() }), fc.record({ erase: key }))
    const [make, set, erase] = ['ffi.Dict', 'ffi.DictSetItem', 'ffi.DictErase'].map((name) => getGlobal(name))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const model = new Map<unknown, unknown>()
        const dict = make!.call() as NativeMap
        for (const one of steps) {
          if ('set' in one) {
            set!.call(dict, one.set, one.value)
            model.set(one.set, one.value)
          } else {
            erase!.call(dict, one.erase)
            model.delete(one.erase)
          }
        }
        const entries = [...dict]
        expect(isOwnLibrary ? entries : entries.toSorted(byKey)).toEqual(
          isOwnLibrary ? [...model] : [...model].toSorted(byKey),
        )
        for (const [k, value] of model) expect(dict.get(k as string)).toBe(value)
        dict.dispose()
      }),
    )
  })

  it('leave nothing', () => {
    const before = live()
    for (let i = 0; i < 100; i++) {
      const map = echo.call(new Map([[`a key that is long ${i}`, ['a value that is long']]])) as NativeMap
      for (const [, value] of map) (value as NativeArray).dispose()
      map.dispose()
    }
    expect(live()).toEqual(before)
  })
})

describe('shapes', () => {
  it('hold whole numbers', () => {
    const made = shape([2, 3n, 2n ** 60n])
    expect(made).toBeInstanceOf(NativeShape)
    expect((echo.call(made) as NativeShape).toArray()).toEqual([2, 3, 2n ** 60n])
    expect(shape([]).toArray()).toEqual([])
    const error = thrownBy(() => shape([1.5])) as PackedFuncError
    expect(error.kind).toBe('ValueError')
  })
})

describe('objects', () => {
  const moveIn = kernel('move_in')

  it('rule 10: are moved by who asks for it', () => {
    const array = echo.call([1, 2]) as NativeArray
    const moved = moveIn.call(rvalue(array)) as NativeArray
    expect(array.isAlive).toBe(false)
    expect(moved.toArray()).toEqual([1, 2])
    expect(() => rvalue(1 as never)).toThrow('must be a native object')
  })

  it('rule 31: stay where they are if nobody takes them', () => {
    const array = echo.call([1]) as NativeArray
    expect(kernel('type_index').call(rvalue(array))).toBe(10)
    expect(array.toArray()).toEqual([1])
  })

  it('rule 32: are moved once', () => {
    const array = echo.call([1]) as NativeArray
    const error = thrownBy(() => moveIn.call(rvalue(array), 'again')) as PackedFuncError
    expect(error.kind).toBe('InternalError')
    expect(error.sentence).toContain('RValueRef already moved')
    expect(array.isAlive).toBe(false)
  })

  it('are gone for other arguments of the call, and come back if nobody takes them', () => {
    const array = echo.call([1, 2]) as NativeArray
    expect(() => kernel('type_index').call(rvalue(array), array)).toThrow(ScopeClosedError)
    expect(() => kernel('type_index').call(rvalue(array), rvalue(array))).toThrow(ScopeClosedError)
    expect(array.toArray()).toEqual([1, 2])
    array.dispose()
    expect(array.isAlive).toBe(false)
  })

  it('stay alive while a call borrows them', () => {
    const before = live().native
    const array = echo.call([1, 2]) as NativeArray
    expect(kernel('read_after').call(array, rvalue(array))).toBe(1)
    expect(array.isAlive).toBe(false)
    const other = echo.call([1, 2]) as NativeArray
    const outer = kernel('read_after').call(other, () => (moveIn.call(rvalue(other)) as NativeArray).dispose())
    expect(outer).toBe(1)
    expect(other.isAlive).toBe(false)
    expect(live().native).toBe(before)
  })

  it('a result that is moved has no other reference', () => {
    const array = echo.call([1, 2]) as NativeArray
    const moved = moveIn.call(rvalue(array)) as NativeArray
    expect(kernel('read_after').call(moved, () => null)).toBe(1)
  })

  it('of other types are passed on', () => {
    const missing = getGlobal('ffi.GetInvalidObject').call() as NativeObject
    expect(missing.typeKey).toBe('ffi.Object')
    expect((echo.call(missing) as NativeObject).handle).toBe(missing.handle)
  })

  it('errors are values too', () => {
    const error = new RangeError('as a value')
    expect(echo.call(error)).toBe(error)
  })
})
