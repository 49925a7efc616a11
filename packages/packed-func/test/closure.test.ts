import { describe, expect, it } from 'vitest'
import { ArgumentError, ScopeClosedError, ScopeHeldError, tensor, type Tensor } from '@tenon/core'
import { liveCallbacks } from '@tenon/core/internal'
import type { NativeArray, PackedFunc, PackedFuncError } from '../src/index.ts'
import { getGlobal, packedFunc, rvalue, tensorView } from '../src/index.ts'
import { openStack } from '../src/native/stack.ts'
import { kernel, live, thrownBy } from './support.ts'

const call = kernel('call')
const echo = kernel('echo')

describe('a function of TypeScript', () => {
  it('gets arguments from native code and returns a result', () => {
    const seen: unknown[] = []
    const run = (...values: unknown[]): string => {
      seen.push(...values)
      return 'a result longer than seven'
    }
    expect(call(run as never, 1, 2.5, 'text longer than seven', 'short', null, true, new Uint8Array(20))).toBe(
      'a result longer than seven',
    )
    expect(seen).toEqual([1, 2.5, 'text longer than seven', 'short', null, true, new Uint8Array(20)])
  })

  it.each([
    ['undefined', undefined, null],
    ['text with a NUL', 'long\0 text', 'long\0 text'],
    ['a bigint', 2n ** 60n, 2n ** 60n],
  ])('returns %s', (_, result, expected) => {
    expect(call((() => result) as never)).toStrictEqual(expected)
  })

  it('returns arrays and functions, which the caller owns', () => {
    const array = call(() => [1, 'two', [3]]) as NativeArray
    expect(array.get(1)).toBe('two')
    const made = call(() => (x: number) => x + 1) as PackedFunc
    expect(made(1)).toBe(2)
    const other = getGlobal('ffi.String')
    expect((call(() => other) as PackedFunc)('x')).toBe('x')
    expect(other.isAlive).toBe(true)
  })

  it('may keep the objects that it gets', () => {
    let kept: PackedFunc | undefined
    call(
      (f: PackedFunc) => {
        kept = f
      },
      packedFunc(() => 7),
    )
    expect(kept!()).toBe(7)
  })

  it('may call itself through native code', () => {
    const factorial = packedFunc((n: number): number => (n <= 1 ? 1 : n * (factorial(n - 1) as number)))
    expect(factorial(10)).toBe(3_628_800)
  })

  it('gets an object that is passed as rvalue()', () => {
    const array = echo([1, 2]) as NativeArray
    let size = 0
    call((moved: NativeArray) => {
      size = moved.size
    }, rvalue(array))
    expect(size).toBe(2)
    expect(array.isAlive).toBe(false)
  })

  it('must be a function', () => {
    expect(() => packedFunc(1 as never)).toThrow(ArgumentError)
  })

  it('must be declared asynchronous to return a promise', () => {
    const error = thrownBy(() => call(async () => Promise.reject(new Error('later')))) as PackedFuncError
    expect(error.kind).toBe('TypeError')
    expect(error.sentence).toContain('asynchronous function used as packed function')
  })

  it('cannot return a view or an rvalue', () => {
    expect(() => call(() => tensorView(tensor('float32', [1])))).toThrow('which calls only borrow')
    const array = echo([1]) as NativeArray
    expect(() => call(() => rvalue(array))).toThrow('which calls only borrow')
    expect(array.isAlive).toBe(true)
  })
})

describe('tensors that a callback borrows', () => {
  it.each([
    ['itself', (lent: Tensor) => lent],
    ['in an array', (lent: Tensor) => [lent]],
  ])('cannot be returned: %s', (_, run) => {
    const before = live()
    let seen: Tensor | undefined
    const keeping = packedFunc((lent: Tensor) => {
      seen = lent
      return run(lent)
    })
    expect(() => call(keeping, tensorView(tensor('float32', [2], [1, 2])))).toThrow(ScopeHeldError)
    expect(() => seen!.toArray()).toThrow(ScopeClosedError)
    keeping.close()
    expect(live().foreign).toBe(before.foreign + 1)
  })

  it('lose their memory if the callback lets native code keep them', () => {
    let seen: Tensor | undefined
    let kept: NativeArray | undefined
    const x = tensor('float32', [2], [1, 2])
    const keep = (lent: Tensor): void => {
      seen = lent
      kept = getGlobal('ffi.Array')(lent) as NativeArray
    }
    expect(() => call(keep, tensorView(x))).toThrow(ScopeHeldError)
    expect(() => seen!.toArray()).toThrow('detached')
    kept!.close()
  })

  it('can be read and written until the callback returns', () => {
    const x = tensor('float32', [3], [1, 2, 3])
    let kept: Tensor | undefined
    call((lent: Tensor) => {
      kept = lent
      expect(lent.toArray()).toEqual([1, 2, 3])
      lent.view()[0] = 9
    }, tensorView(x))
    expect(x.toArray()).toEqual([9, 2, 3])
    expect(() => kept!.toArray()).toThrow('that a callback borrowed')
  })
})

describe('a tensor that a callback borrows and closes itself', () => {
  it('is closed, and the call succeeds', () => {
    const x = tensor('float32', [2], [1, 2])
    const closing = (borrowed: Tensor): number => {
      ;(borrowed.segment.lifetime as unknown as { close(): void }).close()
      return borrowed.shape[0]!
    }
    expect(call(closing, tensorView(x))).toBe(2)
    expect(x.toArray()).toEqual([1, 2])
  })
})

describe('lifetimes', () => {
  it('a function lives until native code releases its last reference', () => {
    const before = liveCallbacks()
    kernel('keep')(() => 'kept')
    expect(liveCallbacks()).toBe(before + 1)
    const kept = kernel('kept')() as PackedFunc
    expect(kept()).toBe('kept')
    kernel('keep')(null)
    expect(liveCallbacks()).toBe(before + 1)
    kept.close()
    expect(liveCallbacks()).toBe(before)
  })

  it('a thousand closed functions leak nothing', () => {
    const before = live()
    const callbacks = liveCallbacks()
    for (let i = 0; i < 1000; i++) packedFunc(() => i).close()
    expect(live()).toEqual(before)
    expect(liveCallbacks()).toBe(callbacks)
  })
})

describe('threads', () => {
  it('a call from a foreign thread fails at once', () => {
    const error = thrownBy(() => kernel('call_on_thread')(() => 1)) as PackedFuncError
    expect(error.kind).toBe('ThreadError')
  })

  it('a native function runs on a foreign thread', () => {
    expect(kernel('call_on_thread')(kernel('nothing'))).toBeNull()
  })

  it('an error of another thread keeps its text', () => {
    const error = thrownBy(() => kernel('call_on_thread')(kernel('echo'))) as PackedFuncError
    expect(error.sentence).toBe('echo takes one argument')
  })
})

describe('nesting', () => {
  it('calls that nest too deep throw RecursionError, and later calls work', () => {
    const stack = openStack()
    let depth = 0
    const forever: PackedFunc = packedFunc(() => {
      depth++
      return forever()
    })
    const error = thrownBy(() => forever()) as PackedFuncError
    expect(error.kind).toBe('RecursionError')
    expect(depth).toBe(stack.depthLimit)
    expect(stack.depth).toBe(0)
    expect(stack.top).toBe(0)
    expect(echo('still works, as ever')).toBe('still works, as ever')
  })

  it('an error of a callback is one failure for native code', () => {
    const result = call.tryCall(() => {
      throw new Error('x')
    })
    expect(result).toEqual({ ok: false, kind: 'RuntimeError', sentence: 'x' })
  })
})
