import { beforeEach, describe, expect, it } from 'vitest'
import { type NativeArray, packedFunc, registerGlobal, removeGlobal, rvalue, type PackedFunc } from '../src/index.ts'
import { TypeIndex } from '../src/native/type-index.ts'
import { ending, stubFunction, writeObject } from './stub-function.ts'
import { kernel } from './support.ts'

const echo = kernel('echo')
const sum = packedFunc((a: number, b: number, c: number) => a + b + c)
let ended: number[] = []

/** An object whose destructor calls a packed function of TypeScript, which needs slots of the argument stack. */
const calling = (n: number): PackedFunc => ending(() => ended.push(sum(n, 10, 100) as number))

/** Closes the object after `use`, so that only what `use` made of it holds it. */
function handedTo<Result>(use: (object: PackedFunc) => Result, n = 1): Result {
  const object = calling(n)
  const result = use(object)
  object.close()
  return result
}

beforeEach(() => void (ended = []))

describe('a destructor that calls a TypeScript function', () => {
  it('runs when an object is closed', () => {
    calling(1).close()
    expect(ended).toEqual([111])
  })

  it('runs after the outermost call when an object is closed during it', () => {
    const close = packedFunc((object: PackedFunc) => {
      object.close()
      expect(ended).toEqual([])
    })
    handedTo((object) => close(object))
    expect(ended).toEqual([111])
  })

  it('runs when a call ends that alone held its arguments', () => {
    const hand = (n: number): PackedFunc => {
      const object = calling(n)
      objects.push(object)
      return object
    }
    const objects: PackedFunc[] = []
    const closeAll = packedFunc(() => objects.splice(0).forEach((object) => object.close()))
    // Two arrays and a long text are to be undone, and each destructor writes to the argument stack.
    const call = stubFunction((_, _count, result) => {
      closeAll()
      writeObject(result, TypeIndex.Int, 7)
      return 0
    })
    expect(call([hand(1)], 'a text that is longer than seven', [hand(2), hand(3)])).toBe(7)
    expect(ended.toSorted((a, b) => a - b)).toEqual([111, 112, 113])
    expect(call([hand(1)], 1, 2, [hand(2)], 'a text that is longer than seven')).toBe(7)
    expect(ended).toHaveLength(5)
    expect(echo('a text that is longer than seven')).toBe('a text that is longer than seven')
  })

  it('runs when a function takes the object over', () => {
    const drop = stubFunction((_, _count, result) => {
      writeObject(result, TypeIndex.None, 0)
      return 0
    })
    const given = calling(1)
    drop(rvalue(given))
    expect(ended).toEqual([])
    given.close()
    ;(echo(rvalue(calling(2))) as PackedFunc).close()
    expect(ended).toEqual([111, 112])
  })

  it('runs before the result of a callback reaches native code', () => {
    const make = packedFunc(() => {
      handedTo((object) => echo([object]) as NativeArray).close()
      return [1, 2, 3]
    })
    expect(String([...(make() as NativeArray)])).toBe('1,2,3')
    expect(ended).toEqual([111])
  })

  it('runs when an array of many values cannot be made', () => {
    const values: unknown[] = Array.from({ length: 3000 }, () => 1)
    const inner: PackedFunc[] = []
    values[0] = [(inner[0] = calling(1))]
    Object.defineProperty(values, 2500, {
      get: () => {
        inner[0]!.close()
        throw new Error('no such value')
      },
    })
    expect(() => echo(values as never)).toThrow('no such value')
    expect(ended).toEqual([111])
  })

  it('runs when another function takes the name of a global function', () => {
    handedTo((object) => registerGlobal('test.destructors.named', object))
    expect(ended).toEqual([])
    registerGlobal('test.destructors.named', () => 1, { override: true })
    expect(ended).toEqual([111])
    removeGlobal('test.destructors.named')
  })

  it('runs when a job ends that alone held its arguments', async () => {
    const done = handedTo((object) => echo.async([object, 2]))
    const array = (await done) as NativeArray
    expect(ended).toEqual([])
    array.close()
    expect(ended).toEqual([111])
    const size = handedTo((object) => kernel('nothing').async([object], 'a text that is longer than seven'), 2)
    expect(await size).toBeNull()
    expect(ended).toEqual([111, 112])
  })

  it('runs when an answer ends that nobody waits for', async () => {
    const later = packedFunc(async () => echo([1]), { async: true })
    expect(String([...((await kernel('call').async(later)) as NativeArray)])).toBe('1')
  })

  it('throws to no caller, but as an uncaught exception', async () => {
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    const caught = new Promise((resolve) => process.once('uncaughtException', resolve))
    const failing = ending(() => {
      throw new RangeError('at the end')
    })
    failing.close()
    expect(echo(5)).toBe(5)
    expect(await caught).toMatchObject({ message: 'at the end' })
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
})
