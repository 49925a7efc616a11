import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { ScopeClosedError } from '@tenon/core'
import type { NativeMap, NativeObject, PackedFunc, PackedFuncError } from '../src/index.ts'
import { getGlobal, NativeArray, NativeShape, packedFunc, rvalue, shape, type Argument } from '../src/index.ts'
import { ending } from './stub-function.ts'
import { collect, collectAll, isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const echo = kernel('echo')

const byKey = ([a]: readonly unknown[], [b]: readonly unknown[]): number =>
  `${typeof a}${String(a)}` < `${typeof b}${String(b)}` ? -1 : 1

describe('arrays', () => {
  const array = echo([1, 'two', null, [3.5]]) as NativeArray

  it('read their elements as values', () => {
    expect(array).toBeInstanceOf(NativeArray)
    expect(array.size).toBe(4)
    expect(array.get(1)).toBe('two')
    expect([...array].slice(0, 3)).toEqual([1, 'two', null])
    expect((array.get(3) as NativeArray).toArray()).toEqual([3.5])
    expect(array.typeKey).toBe('ffi.Array')
  })

  it.each([2, 2000])('have the elements that an array of %d had when packing began', (size) => {
    const growing: number[] = Array.from({ length: size }, (_, i) => i)
    Object.defineProperty(growing, 0, { get: () => growing.push(7) })
    expect((echo(growing) as NativeArray).size).toBe(size)
    const shrinking: number[] = Array.from({ length: size }, (_, i) => i)
    Object.defineProperty(shrinking, 0, { get: () => (shrinking.length = 1) })
    expect((echo(shrinking) as NativeArray).toArray().slice(0, 2)).toEqual([1, null])
  })

  it.each([
    [-5, 0],
    [NaN, 0],
    [1.5, 1],
    ['7', 7],
    [{ valueOf: (): number => 1030 }, 1030],
  ])('have as many elements as the length %s of a proxy means', (length, expected) => {
    let reads = 0
    const proxy = new Proxy([], { get: (_, key) => (key === 'length' ? (reads++, length) : key) })
    const made = echo(proxy) as NativeArray
    expect([made.size, reads]).toEqual([expected, 1])
  })

  it('cannot have more elements than there is memory for', () => {
    const proxy = new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 - 1 : 1) })
    expect(thrownBy(() => echo(proxy))).toMatchObject({ kind: 'MemoryError' })
  })

  it('may have 100,000 elements', () => {
    const before = live()
    const values = Array.from({ length: 100_000 }, (_, i) => (i % 3 === 0 ? `element ${i}` : i % 3 === 1 ? i : [i]))
    const many = echo(values) as NativeArray
    expect(many.size).toBe(100_000)
    expect([many.get(99_999), many.get(1024), many.get(1024 * 90 + 1)]).toEqual(['element 99999', 1024, 92_161])
    expect((many.get(2) as NativeArray).toArray()).toEqual([2])
    many.close()
    values[90_000] = Symbol('no value') as never
    expect(() => echo(values)).toThrow('cannot take Symbol')
    const map = echo(new Map(values.slice(0, 50_000).map((_, i) => [i, `value ${i}`]))) as NativeMap
    expect(map.size).toBe(50_000)
    expect(map.get(49_999)).toBe('value 49999')
    map.close()
    expect(live().foreign).toBe(before.foreign)
    // The garbage collector owns the array that get(2) returned.
    expect(live().native).toBeLessThanOrEqual(before.native + 1)
  })

  if (isOwnLibrary)
    it('may nest 200,000 deep', () => {
      const before = live().native
      let chain = echo([1]) as NativeArray
      for (let i = 0; i < 200_000; i++) {
        const longer = echo([chain]) as NativeArray
        chain.close()
        chain = longer
      }
      expect(live().native).toBe(before + 200_001)
      chain.close()
      expect(live().native).toBe(before)
    })

  it('throw a RangeError outside their bounds', () => {
    expect(() => array.get(4)).toThrow(RangeError)
    expect(() => array.get(-1)).toThrow('Index -1 out of bounds 4')
  })

  it('are passed without a copy', () => {
    expect((echo(array) as NativeArray).sameAs(array)).toBe(true)
  })

  it('lists can change', () => {
    const list = getGlobal('ffi.List')(1, 2, 3) as NativeArray
    getGlobal('ffi.ListAppend')(list, 'four')
    getGlobal('ffi.ListInsert')(list, 0, 'zero')
    getGlobal('ffi.ListSetItem')(list, 1, 'one')
    expect(list.toArray()).toEqual(['zero', 'one', 2, 3, 'four'])
    expect(getGlobal('ffi.ListPop')(list, 4)).toBe('four')
    getGlobal('ffi.ListErase')(list, 0)
    expect(list.toArray()).toEqual(['one', 2, 3])
    expect(getGlobal('ffi.ListContains')(list, 'one')).toBe(true)
    expect(getGlobal('ffi.ListContains')(list, 'two')).toBe(false)
    for (let i = 0; i < 100; i++) getGlobal('ffi.ListAppend')(list, i)
    expect(list.size).toBe(103)
    getGlobal('ffi.ListClear')(list)
    expect(list.toArray()).toEqual([])
    expect(() => getGlobal('ffi.ListPop')(list, 0)).toThrow('out of bounds')
  })
})

describe('maps', () => {
  it('keep the order of their entries', () => {
    const entries = Array.from({ length: 50 }, (_, i) => [i % 2 === 0 ? i : `key number ${i}`, i] as const)
    const map = echo(new Map<Argument, Argument>(entries)) as NativeMap
    expect(map.size).toBe(50)
    expect([...map]).toEqual(entries)
    expect(map.get('key number 49')).toBe(49)
    expect(map.has(48)).toBe(true)
    expect(map.has(47)).toBe(false)
    const error = thrownBy(() => map.get('none')) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual(['KeyError', 'key is not in Map'])
    expect([...(echo(new Map()) as NativeMap)]).toEqual([])
  })

  it('find short and long text by content', () => {
    const map = echo(
      new Map([
        ['short', 1],
        ['longer than seven', 2],
      ]),
    ) as NativeMap
    expect(map.get('short')).toBe(1)
    expect(map.get('longer than seven')).toBe(2)
  })

  it('behave as a Map of JavaScript after any sequence of changes', () => {
    const key = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.string({ maxLength: 10 }))
    const step = fc.oneof(fc.record({ set: key, value: fc.integer() }), fc.record({ erase: key }))
    const [make, set, erase] = ['ffi.Dict', 'ffi.DictSetItem', 'ffi.DictErase'].map((name) => getGlobal(name))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const model = new Map<unknown, unknown>()
        const dict = make!() as NativeMap
        for (const one of steps) {
          if ('set' in one) {
            set!(dict, one.set, one.value)
            model.set(one.set, one.value)
          } else {
            erase!(dict, one.erase)
            model.delete(one.erase)
          }
        }
        const entries = [...dict]
        expect(isOwnLibrary ? entries : entries.toSorted(byKey)).toEqual(
          isOwnLibrary ? [...model] : [...model].toSorted(byKey),
        )
        for (const [k, value] of model) expect(dict.get(k as string)).toBe(value)
        dict.close()
      }),
    )
  })

  // Other libraries walk freed memory.
  if (isOwnLibrary)
    describe.each([3, 20])('an iterator of a Dict with %d entries', (size) => {
      const [make, set, erase, clear] = ['ffi.Dict', 'ffi.DictSetItem', 'ffi.DictErase', 'ffi.DictClear'].map((name) =>
        getGlobal(name),
      )
      const key = (i: number): string => `a key that is long ${i}`
      const value = (i: number): string => `a value that is long ${i}`
      const filled = (): NativeMap =>
        make!(...Array.from({ length: size }, (_, i) => [key(i), value(i)]).flat()) as NativeMap

      const changes: Readonly<Record<string, (dict: NativeMap) => void>> = {
        'erases the entry': (dict) => erase!(dict, key(0)),
        'erases another entry': (dict) => erase!(dict, key(size - 1)),
        'adds an entry': (dict) => set!(dict, 'another key', 1),
        'clears the Dict': (dict) => clear!(dict),
        'replaces the entry': (dict) => {
          erase!(dict, key(0))
          set!(dict, key(0), 'new')
        },
        'clears the Dict and fills it again': (dict) => {
          clear!(dict)
          for (let i = 0; i < size; i++) set!(dict, key(i), value(i))
        },
      }

      it.each(Object.entries(changes))('throws if the loop %s', (_, change) => {
        const before = live().native
        const dict = filled()
        const visited: unknown[] = []
        const error = thrownBy(() => {
          for (const [k] of dict) {
            visited.push(k)
            change(dict)
            for (let i = 0; i < 50; i++) echo('x'.repeat(20 + i))
          }
        }) as PackedFuncError
        expect([visited, error.kind]).toEqual([[key(0)], 'RuntimeError'])
        expect(error.sentence).toContain('changed during iteration')
        dict.close()
        // The error holds the native one.
        expect(live().native).toBe(before + 1)
      })

      it('reads no entry of a Dict that was cleared', () => {
        const dict = filled()
        const iterator = getGlobal('ffi.DictForwardIterFunctor')(dict) as PackedFunc
        expect([iterator(0), iterator(1), iterator(2)]).toEqual([key(0), value(0), true])
        clear!(dict)
        for (const command of [0, 1, 2]) expect(iterator.tryCall(command)).toMatchObject({ kind: 'RuntimeError' })
      })

      it('goes on if the loop changes values, and ends if the last entry was erased', () => {
        const dict = filled()
        for (const [k] of dict) set!(dict, k, 'new')
        expect([...dict.toMap().values()]).toEqual(Array(size).fill('new'))
        const seen = [...dict].map(([k]) => erase!(dict, k))
        expect([seen.length, dict.size]).toEqual([size, 0])
      })
    })

  if (isOwnLibrary)
    it('can be changed by the destructors of their values while they are cleared', () => {
      const dict = getGlobal('ffi.Dict')() as NativeMap
      const [set, clear] = [getGlobal('ffi.DictSetItem'), getGlobal('ffi.DictClear')]
      const add = packedFunc((i: number) => {
        for (let k = 0; k < 50; k++) set(dict, `added by ${i} as ${k}`, `a value that is long ${k}`)
      })
      for (let i = 0; i < 40; i++) {
        const object = ending(() => add(i))
        set(dict, i, object)
        object.close()
      }
      clear(dict)
      expect(dict.size).toBe(40 * 50)
      for (const [k, v] of dict) expect(String(v)).toBe(`a value that is long ${String(k).split(' as ')[1]}`)
    })

  it('leak nothing', () => {
    const before = live()
    for (let i = 0; i < 100; i++) {
      const map = echo(new Map([[`a key that is long ${i}`, ['a value that is long']]])) as NativeMap
      for (const [, value] of map) (value as NativeArray).close()
      map.close()
    }
    expect(live()).toEqual(before)
  })
})

describe('shapes', () => {
  it('hold whole numbers', () => {
    const made = shape([2, 3n, 2n ** 60n])
    expect(made).toBeInstanceOf(NativeShape)
    expect((echo(made) as NativeShape).toArray()).toEqual([2, 3, 2n ** 60n])
    expect(shape([]).toArray()).toEqual([])
    const error = thrownBy(() => shape([1.5])) as PackedFuncError
    expect(error.kind).toBe('ValueError')
  })
})

describe('objects', () => {
  const moveIn = kernel('move_in')

  it('are closed here when the function takes them over', () => {
    const array = echo([1, 2]) as NativeArray
    const moved = moveIn(rvalue(array)) as NativeArray
    expect(array.isAlive).toBe(false)
    expect(moved.toArray()).toEqual([1, 2])
    expect(() => rvalue(1 as never)).toThrow('must be a native object')
  })

  it('stay open if no function takes them over', () => {
    const array = echo([1]) as NativeArray
    expect(kernel('type_index')(rvalue(array))).toBe(10)
    expect(array.toArray()).toEqual([1])
  })

  it('are released by the garbage collector after they were taken back', async () => {
    await collectAll()
    const before = live()
    const leave = (): void => {
      for (let i = 0; i < 20; i++) {
        const object = [echo([i]), echo(new Map([[i, i]])), shape([i])][i % 3] as NativeObject
        // Taken back after a call that did not move it, one that failed, and one whose later argument was refused.
        kernel('type_index')(rvalue(object))
        expect(() => kernel('sum')(rvalue(object))).toThrow('sum takes numbers')
        expect(() => kernel('type_index')(rvalue(object), object)).toThrow(ScopeClosedError)
        expect(object.isAlive).toBe(true)
      }
    }
    leave()
    expect(live().native).toBeGreaterThan(before.native)
    await collect(() => live().native <= before.native)
    // Objects of the tests before this one may end here, too.
    const after = live()
    expect(after.native).toBeLessThanOrEqual(before.native)
    expect(after.held).toBeLessThanOrEqual(before.held)
    expect(after.foreign).toBe(before.foreign)
  })

  it('are moved at most once', () => {
    const array = echo([1]) as NativeArray
    const error = thrownBy(() => moveIn(rvalue(array), 'again')) as PackedFuncError
    expect(error.kind).toBe('InternalError')
    expect(error.sentence).toContain('RValueRef already moved')
    expect(array.isAlive).toBe(false)
  })

  it('cannot be another argument of the call that may take them over', () => {
    const array = echo([1, 2]) as NativeArray
    expect(() => kernel('type_index')(rvalue(array), array)).toThrow(ScopeClosedError)
    expect(() => kernel('type_index')(rvalue(array), rvalue(array))).toThrow(ScopeClosedError)
    expect(array.toArray()).toEqual([1, 2])
    array.close()
    expect(array.isAlive).toBe(false)
  })

  it('live for as long as a call borrows them', () => {
    const readAfter = kernel('read_after')
    const before = live().native
    const array = echo([1, 2]) as NativeArray
    expect(readAfter(array, rvalue(array))).toBe(1)
    expect(array.isAlive).toBe(false)
    const other = echo([1, 2]) as NativeArray
    const outer = readAfter(other, () => (moveIn(rvalue(other)) as NativeArray).close())
    expect(outer).toBeGreaterThan(0)
    expect(other.isAlive).toBe(false)
    expect(live().native).toBe(before)
  })

  it('have no other reference after they were moved', () => {
    const array = echo([1, 2]) as NativeArray
    const moved = moveIn(rvalue(array)) as NativeArray
    expect(kernel('read_after')(moved, () => null)).toBe(1)
  })

  it('are closed and moved only by themselves, not by what inherits from them', () => {
    const before = live().native
    const array = echo([1, 2]) as NativeArray
    const heir = Object.create(array) as NativeArray
    expect(heir.isAlive).toBe(false)
    expect(() => heir.size).toThrow(ScopeClosedError)
    expect(() => heir.close()).toThrow(ScopeClosedError)
    expect(() => echo(new Proxy(array, {}))).toThrow(ScopeClosedError)
    expect(() => moveIn(rvalue(heir))).toThrow(ScopeClosedError)
    expect(array.toArray()).toEqual([1, 2])
    array.close()
    expect(() => heir.size).toThrow(ScopeClosedError)
    expect(live().native).toBe(before)
  })

  it('cannot be posted to another thread, nor be part of a message', () => {
    for (const object of [echo([1]), echo(new Map()), shape([1]), [rvalue(echo([1]) as NativeArray)]])
      expect(() => structuredClone(object)).toThrow('Cannot clone object')
    expect(() => structuredClone(kernel('echo'))).toThrow('could not be cloned')
  })

  it('print as their types', () => {
    const array = echo([1]) as NativeArray
    expect(inspect({ array, echo })).toBe('{ array: [ffi.Array], echo: [ffi.Function echo] }')
    array.close()
    expect(`${array}`).toBe('[ffi.Array, closed]')
  })

  it('of unknown types are passed on', () => {
    const missing = getGlobal('ffi.GetInvalidObject')() as NativeObject
    expect(missing.typeKey).toBe('ffi.Object')
    expect((echo(missing) as NativeObject).sameAs(missing)).toBe(true)
  })

  it('an error can be an argument and a result', () => {
    const error = new RangeError('as a value')
    expect(echo(error)).toBe(error)
  })
})
