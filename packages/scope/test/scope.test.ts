import { AllocationError, ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'

const closeable = {
  'a confined scope': () => ResourceScope.ofConfined(),
  'a shared scope': () => ResourceScope.ofShared(),
  'a confined native scope': () => NativeScope.ofConfined(),
  'a shared native scope': () => NativeScope.ofShared(),
}

for (const [name, open] of Object.entries(closeable)) {
  describe(name, () => {
    test('S1: closing comes first, the actions after it', () => {
      const scope = open()
      const seen: unknown[] = []
      scope.addCloseAction(() => {
        seen.push(scope.isAlive)
        for (const use of [() => scope.close(), () => scope.addCloseAction(() => {}), () => scope.acquire()]) {
          expect(use).toThrow(ScopeClosedError)
        }
        expect(() => MemorySegment.allocateNative(8, 8, scope)).toThrow(ScopeClosedError)
        seen.push('ran')
      })
      expect(scope.isAlive).toBe(true)
      scope.close()
      expect(scope.isAlive).toBe(false)
      expect(seen).toEqual([false, 'ran'])
    })

    test('S2: closing twice throws, disposing twice does not', () => {
      const scope = open()
      scope.close()
      expect(() => scope.close()).toThrow(ScopeClosedError)
      expect(() => scope.close()).toThrow(/closed already/)
      expect(() => scope[Symbol.dispose]()).not.toThrow()
    })

    test('S6: closing is refused while locks are held, and says how many', () => {
      const scope = open()
      let ran = 0
      scope.addCloseAction(() => ran++)
      const locks = Array.from({ length: 100 }, () => scope.acquire())
      expect(() => scope.close()).toThrow(ScopeHeldError)
      expect(() => scope.close()).toThrow(/100 holds/)
      for (const lock of locks.slice(1)) {
        for (let i = 0; i < 3; i++) lock.release()
      }
      expect(() => scope.close()).toThrow(/1 hold$/m)
      expect([scope.isAlive, ran]).toEqual([true, 0])
      locks[0]!.release()
      scope.close()
      expect(ran).toBe(1)
    })

    test('S7: a lock is released once, and none can be had of a closed scope', () => {
      const scope = open()
      const [one, other] = [scope.acquire(), scope.acquire()]
      one.release()
      one[Symbol.dispose]()
      expect(() => scope.close()).toThrow(ScopeHeldError)
      other.release()
      scope.close()
      expect(() => scope.acquire()).toThrow(ScopeClosedError)
    })

    test('S9: no action can be added to a closed scope', () => {
      const scope = open()
      scope.close()
      expect(() => scope.addCloseAction(() => {})).toThrow(ScopeClosedError)
    })

    test('T1: all actions run, last first, whatever they throw; the scope is closed', () => {
      const scope = open()
      const order: string[] = []
      const [first, second] = [new Error('b'), 'no error at all']
      scope.addCloseAction(() => order.push('a'))
      scope.addCloseAction(() => {
        order.push('b')
        throw first
      })
      scope.addCloseAction(() => {
        order.push('c')
        throw second
      })
      let thrown: unknown
      try {
        scope.close()
      } catch (error) {
        thrown = error
      }
      expect(order).toEqual(['c', 'b', 'a'])
      expect(thrown).toBeInstanceOf(AggregateError)
      expect((thrown as AggregateError).errors).toEqual([second, first])
      expect(scope.isAlive).toBe(false)
      expect(() => scope.close()).toThrow(ScopeClosedError)
    })

    test('T1: a single error comes out as it is', () => {
      const scope = open()
      const error = new RangeError('mine')
      scope.addCloseAction(() => {
        throw error
      })
      expect(() => scope.close()).toThrow(error)
    })

    test('T2: an action can still read and write the memory', () => {
      const scope = open()
      const segment = MemorySegment.allocateNative(8, 8, scope)
      segment.setInt32(0, 42)
      let seen = 0
      scope.addCloseAction(() => {
        seen = segment.getInt32(0)
        segment.setInt32(0, 43)
      })
      scope.close()
      expect(seen).toBe(42)
      expect(() => segment.getInt32(0)).toThrow(ScopeClosedError)
    })

    test('T3: disposing throws for locks', () => {
      const scope = open()
      const lock = scope.acquire()
      expect(() => scope[Symbol.dispose]()).toThrow(ScopeHeldError)
      lock.release()
      scope[Symbol.dispose]()
    })

    test('100 actions run once each', () => {
      const scope = open()
      let sum = 0
      for (let i = 0; i < 100; i++) scope.addCloseAction(() => (sum += i))
      expect(sum).toBe(0)
      scope.close()
      expect(sum).toBe(4950)
    })

    test('run() closes it, and gives what the function returned', () => {
      const scope = open()
      expect(scope.run((given) => [given === scope, scope.isAlive])).toEqual([true, true])
      expect(scope.isAlive).toBe(false)
    })

    test('run() closes it when the function throws', () => {
      const scope = open()
      const error = new Error('mine')
      expect(() =>
        scope.run(() => {
          throw error
        }),
      ).toThrow(error)
      expect(scope.isAlive).toBe(false)
    })

    test('run() closes it and refuses a promise', () => {
      const scope = open()
      // oxlint-disable-next-line unicorn/no-thenable
      expect(() => scope.run(() => ({ then() {} }))).toThrow(ArgumentError)
      // oxlint-disable-next-line unicorn/no-thenable
      expect(() => ResourceScope.ofConfined().run(() => Object.assign(() => {}, { then() {} }))).toThrow(ArgumentError)
      expect(scope.isAlive).toBe(false)
    })

    test('run() of a closed one calls nothing', async () => {
      const scope = open()
      scope.close()
      let calls = 0
      expect(() => scope.run(() => calls++)).toThrow(ScopeClosedError)
      await expect(scope.runAsync(async () => calls++)).rejects.toThrow(ScopeClosedError)
      expect(calls).toBe(0)
    })

    test('run() reports both errors', () => {
      const scope = open()
      scope.addCloseAction(() => {
        throw new Error('close')
      })
      try {
        scope.run(() => {
          throw new Error('use')
        })
        expect.unreachable()
      } catch (error) {
        expect((error as AggregateError).errors.map(String)).toEqual(['Error: use', 'Error: close'])
      }
    })

    test('runAsync() closes it when the promise has settled', async () => {
      const scope = open()
      const result = scope.runAsync(async () => {
        await Promise.resolve()
        return scope.isAlive
      })
      expect(scope.isAlive).toBe(true)
      expect(await result).toBe(true)
      expect(scope.isAlive).toBe(false)
      const failing = open()
      await expect(failing.runAsync(async () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
      expect(failing.isAlive).toBe(false)
    })

    test('closeAsync() waits for locks, and refuses what is new meanwhile', async () => {
      const scope = open()
      const lock = scope.acquire()
      const closed = scope.closeAsync()
      expect(scope.isAlive).toBe(false)
      expect(() => scope.acquire()).toThrow(ScopeClosedError)
      expect(() => MemorySegment.allocateNative(8, 8, scope)).toThrow(ScopeClosedError)
      lock.release()
      await closed
      expect(() => scope.close()).toThrow(ScopeClosedError)
    })

    test('closeAsync() gives up in time, and the scope is open again', async () => {
      const scope = open()
      const lock = scope.acquire()
      await expect(scope.closeAsync({ deadline: 5 })).rejects.toThrow(ScopeHeldError)
      expect(scope.isAlive).toBe(true)
      lock.release()
      MemorySegment.allocateNative(8, 8, scope)
      await scope[Symbol.asyncDispose]()
      expect(scope.isAlive).toBe(false)
    })

    test('is a ResourceScope', () => {
      const scope = open()
      expect(scope).toBeInstanceOf(ResourceScope)
      scope.close()
      expect({ isAlive: true }).not.toBeInstanceOf(ResourceScope)
    })

    test('S17: an absurd size is refused, and the scope stays usable', () => {
      const scope = open()
      expect(() => MemorySegment.allocateNative(2 ** 52, 8, scope)).toThrow(AllocationError)
      expect(MemorySegment.allocateNative(8, 8, scope).byteSize).toBe(8)
      scope.close()
    })
  })
}

test('S8: a scope can keep another one open until its own actions run', () => {
  const root = ResourceScope.ofConfined()
  const children = Array.from({ length: 100 }, () => {
    const child = ResourceScope.ofShared()
    const lock = root.acquire()
    child.addCloseAction(() => lock.release())
    return child
  })
  for (const child of children) {
    expect(() => root.close()).toThrow(ScopeHeldError)
    child.close()
  }
  root.close()
})

describe('scopes that nobody closes', () => {
  for (const [name, scope] of Object.entries({ implicit: ResourceScope.ofImplicit(), global: ResourceScope.global })) {
    test(`S3: the ${name} scope refuses to be closed, always`, () => {
      expect(() => (scope as { close(): void }).close()).toThrow(ScopeClosedError)
      expect(scope.isAlive).toBe(true)
      expect(Symbol.dispose in scope).toBe(false)
    })

    test(`S7: a lock of the ${name} scope changes nothing`, () => {
      const lock = scope.acquire()
      lock.release()
      lock.release()
      expect(scope.isAlive).toBe(true)
    })

    test(`S9: the ${name} scope accepts actions`, () => {
      expect(() => scope.addCloseAction(() => {})).not.toThrow()
      expect(() => scope.addCloseAction(1 as never)).toThrow(ArgumentError)
    })

    test(`the ${name} scope gives zeroed memory`, () => {
      const segment = MemorySegment.allocateNative(100, 64, scope)
      expect(segment.address % 64n).toBe(0n)
      expect(segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(100)))).toBe(-1)
    })
  }
})

test('S4: what is confined can not be sent to another thread', () => {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(8)
  for (const value of [
    scope,
    segment,
    segment.asSlice(4),
    MemorySegment.ofBuffer(new Uint8Array(4)),
    MemorySegment.NULL,
  ]) {
    expect(() => structuredClone(value)).toThrow(/could not be cloned/)
  }
  scope.close()
})

test('a scope is managed or not', () => {
  for (const managed of ['yes', 1, null])
    expect(() => ResourceScope.ofConfined({ managed: managed as never })).toThrow(ArgumentError)
})

test('a scope is named in messages', () => {
  const scope = ResourceScope.ofConfined({ name: 'request' })
  scope.close()
  expect(() => scope.close()).toThrow('the confined scope "request" is closed already')
})
