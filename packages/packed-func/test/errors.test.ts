import { describe, expect, it } from 'vitest'
import { TenonError } from '@tenon/core'
import {
  AssertionError,
  AttributeError,
  InternalError,
  KeyError,
  MemoryError,
  packedFunc,
  PackedFuncError,
  PackedFuncRangeError,
  PackedFuncTypeError,
  RecursionError,
  registerErrorKind,
  RuntimeError,
  ThreadError,
  ValueError,
} from '../src/index.ts'
import { collect, isOwnLibrary, kernel, live, thrownBy } from './support.ts'

const failAs = kernel('fail_as')
const call = kernel('call')

function refuse(): never {
  throw new Error('refused')
}

describe('native errors', () => {
  it.each([
    ['ValueError', ValueError],
    ['RuntimeError', RuntimeError],
    ['KeyError', KeyError],
    ['AttributeError', AttributeError],
    ['InternalError', InternalError],
    ['MemoryError', MemoryError],
    ['RecursionError', RecursionError],
    ['AssertionError', AssertionError],
    ['ThreadError', ThreadError],
    ['MyOwnError', PackedFuncError],
    ['TypeError', PackedFuncTypeError],
    ['TypeError', TypeError],
    ['IndexError', PackedFuncRangeError],
    ['OverflowError', RangeError],
  ])('kind %s is an instance of %o', (kind, constructor) => {
    const error = thrownBy(() => failAs(kind)) as PackedFuncError
    expect(error).toBeInstanceOf(constructor)
    expect(error).toBeInstanceOf(PackedFuncError)
    expect(error).toBeInstanceOf(TenonError)
    expect(error.kind).toBe(kind)
  })

  it('are instances of one class only', () => {
    const error = thrownBy(() => failAs('KeyError'))
    expect(error).not.toBeInstanceOf(ValueError)
    expect(error).not.toBeInstanceOf(PackedFuncTypeError)
    expect(
      thrownBy(() =>
        call(() => {
          throw new KeyError('mine')
        }),
      ),
    ).toMatchObject({ kind: 'KeyError', sentence: 'mine' })
  })

  it('null parts of a message are left out', () => {
    expect((thrownBy(() => failAs('K')) as PackedFuncError).sentence).toBe('failed as asked')
  })

  it('registerErrorKind maps a kind to a class', () => {
    class NoSuchModel extends Error {}
    registerErrorKind('NoSuchModel', NoSuchModel, (sentence) => new NoSuchModel(sentence))
    expect(thrownBy(() => failAs('NoSuchModel'))).toBeInstanceOf(NoSuchModel)
    const thrower = packedFunc(() => {
      throw new NoSuchModel('none')
    })
    expect(thrower.tryCall()).toEqual({ ok: false, kind: 'NoSuchModel', sentence: 'none' })
    expect(() => registerErrorKind('', NoSuchModel, () => new Error('x'))).toThrow('kind must be')
    expect(() => registerErrorKind('X', NoSuchModel, 1 as never)).toThrow('make must be')
  })
})

describe('errors of JavaScript', () => {
  it.each([
    ['a TypeError', () => new TypeError('t'), 'TypeError', 't'],
    ['a RangeError', () => new RangeError('r'), 'ValueError', 'r'],
    ['a SyntaxError', () => new SyntaxError('s'), 'ValueError', 's'],
    ['a plain Error', () => new Error('e'), 'RuntimeError', 'e'],
    ['an Error with a name', () => Object.assign(new Error('n'), { name: 'Named' }), 'Named', 'n'],
    ['one of ours', () => new PackedFuncError('KeyError', 'k'), 'KeyError', 'k'],
    ['text', () => 'just text', 'RuntimeError', 'just text'],
    ['nothing', () => undefined, 'RuntimeError', 'undefined'],
  ])('%s has its kind and text', (_, make, kind, sentence) => {
    const run = packedFunc(() => {
      throw make()
    })
    expect(run.tryCall()).toEqual({ ok: false, kind, sentence })
  })

  it('return as the same object through any number of frames', () => {
    const mine = new RangeError('mine')
    const inner = packedFunc(() => {
      throw mine
    })
    const outer = packedFunc(() => call(inner))
    expect(thrownBy(() => inner())).toBe(mine)
    expect(thrownBy(() => call(call, outer))).toBe(mine)
    expect(
      thrownBy(() =>
        call(() => {
          throw mine
        }),
      ),
    ).toBe(mine)
  })

  it('a native error that JavaScript rethrows is the same on both sides', () => {
    let seen: unknown
    const through = packedFunc(() => {
      try {
        failAs('KeyError')
      } catch (error) {
        seen = error
        throw error
      }
    })
    expect(thrownBy(() => call(through))).toBe(seen)
  })

  it('keep their cause, which returns as the same object', () => {
    const cause = new TypeError('why')
    const run = packedFunc(() => {
      throw new Error('what', { cause })
    })
    expect((thrownBy(() => run()) as Error).cause).toBe(cause)
  })

  it('may make another cause whenever it is asked', () => {
    class Endless extends Error {
      override get cause(): Error {
        return new Endless('next')
      }
    }
    const error = new Endless('first')
    const run = packedFunc(() => {
      throw error
    })
    expect(thrownBy(() => run())).toBe(error)
  })

  it('may be their own cause, or have 10,000 causes', () => {
    const loop = new Error('loop')
    loop.cause = loop
    let long = new Error('first')
    for (let i = 0; i < 10_000; i++) long = new Error('next', { cause: long })
    const throwing = packedFunc((isLong: boolean) => {
      throw isLong ? long : loop
    })
    // More calls than may nest.
    for (let i = 0; i < 200; i++) expect(thrownBy(() => throwing(false))).toBe(loop)
    expect(thrownBy(() => throwing(true))).toBe(long)
    expect(kernel('echo')(loop)).toBe(loop)
  })

  it.each([
    ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get: refuse })],
    ['an error whose cause throws', Object.defineProperty(new Error('x'), 'cause', { get: refuse })],
    ['an object without a prototype', Object.create(null) as unknown],
    ['a proxy that throws for everything', new Proxy({}, { get: refuse, getPrototypeOf: refuse })],
    ['an error whose name is not a string', Object.assign(new Error('x'), { name: 3 })],
  ])('return as the same object: %s', (_, thrown) => {
    const throwing = packedFunc(() => {
      throw thrown
    })
    for (let i = 0; i < 200; i++) expect(thrownBy(() => throwing()) === thrown).toBe(true)
    expect(packedFunc(() => 7)()).toBe(7)
  })

  it('keep text that has no room on the stack', () => {
    const long = 'long '.repeat(10_000)
    const run = packedFunc(() => {
      throw new Error(long)
    })
    expect(run.tryCall()).toEqual({ ok: false, kind: 'RuntimeError', sentence: long })
  })

  it('are released when native code releases them', () => {
    const before = live()
    const run = packedFunc(() => {
      throw new Error('again')
    })
    for (let i = 0; i < 1000; i++) run.tryCall()
    run.close()
    expect(live()).toEqual(before)
  })

  if (isOwnLibrary)
    it('native errors are released by the garbage collector', async () => {
      const before = live().native
      for (let i = 0; i < 100; i++) thrownBy(() => failAs('KeyError'))
      expect(live().native).toBeGreaterThan(before)
      await collect(() => live().native <= before)
      expect(live().native).toBeLessThanOrEqual(before)
    })
})
