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
    test('the scope is closed to new users before its actions run', () => {
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

    test('close() throws the second time, and disposal does not', () => {
      const scope = open()
      scope.close()
      expect(() => scope.close()).toThrow(ScopeClosedError)
      expect(() => scope.close()).toThrow(/closed already/)
      expect(() => scope[Symbol.dispose]()).not.toThrow()
    })

    test('close() throws ScopeHeldError with the number of holds', () => {
      const scope = open()
      let ran = 0
      scope.addCloseAction(() => ran++)
      const holds = Array.from({ length: 100 }, () => scope.acquire())
      expect(() => scope.close()).toThrow(ScopeHeldError)
      expect(() => scope.close()).toThrow(/100 holds/)
      for (const hold of holds.slice(1)) {
        for (let i = 0; i < 3; i++) hold.release()
      }
      expect(() => scope.close()).toThrow(/1 hold$/m)
      expect([scope.isAlive, ran]).toEqual([true, 0])
      holds[0]!.release()
      scope.close()
      expect(ran).toBe(1)
    })

    test('release() counts once, and acquire() throws after close', () => {
      const scope = open()
      const [one, other] = [scope.acquire(), scope.acquire()]
      one.release()
      one[Symbol.dispose]()
      expect(() => scope.close()).toThrow(ScopeHeldError)
      other.release()
      scope.close()
      expect(() => scope.acquire()).toThrow(ScopeClosedError)
    })

    test('addCloseAction() throws after close', () => {
      const scope = open()
      scope.close()
      expect(() => scope.addCloseAction(() => {})).toThrow(ScopeClosedError)
    })

    test('all actions run, last first, whatever they throw', () => {
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

    test('close() rethrows a single error unchanged', () => {
      const scope = open()
      const error = new RangeError('mine')
      scope.addCloseAction(() => {
        throw error
      })
      expect(() => scope.close()).toThrow(error)
    })

    test('an action can still read and write the memory', () => {
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

    test('disposal throws ScopeHeldError while there are holds', () => {
      const scope = open()
      const hold = scope.acquire()
      expect(() => scope[Symbol.dispose]()).toThrow(ScopeHeldError)
      hold.release()
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

    test('run() closes the scope and returns the result of the function', () => {
      const scope = open()
      expect(scope.run((given) => [given === scope, scope.isAlive])).toEqual([true, true])
      expect(scope.isAlive).toBe(false)
    })

    test('run() closes the scope when the function throws', () => {
      const scope = open()
      const error = new Error('mine')
      expect(() =>
        scope.run(() => {
          throw error
        }),
      ).toThrow(error)
      expect(scope.isAlive).toBe(false)
    })

    test('run() closes the scope and refuses a promise', () => {
      const scope = open()
      // oxlint-disable-next-line unicorn/no-thenable
      expect(() => scope.run(() => ({ then() {} }))).toThrow(ArgumentError)
      // oxlint-disable-next-line unicorn/no-thenable
      expect(() => ResourceScope.ofConfined().run(() => Object.assign(() => {}, { then() {} }))).toThrow(ArgumentError)
      expect(scope.isAlive).toBe(false)
    })

    test('run() of a closed scope does not call the function', async () => {
      const scope = open()
      scope.close()
      let calls = 0
      expect(() => scope.run(() => calls++)).toThrow(ScopeClosedError)
      await expect(scope.runAsync(async () => calls++)).rejects.toThrow(ScopeClosedError)
      expect(calls).toBe(0)
    })

    test('run() reports the error of the function and the error of closing', () => {
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

    test('runAsync() closes the scope when the promise has settled', async () => {
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

    test('closeAsync() waits for holds, and refuses new users meanwhile', async () => {
      const scope = open()
      const hold = scope.acquire()
      const closed = scope.closeAsync()
      expect(scope.isAlive).toBe(false)
      expect(() => scope.acquire()).toThrow(ScopeClosedError)
      expect(() => MemorySegment.allocateNative(8, 8, scope)).toThrow(ScopeClosedError)
      hold.release()
      await closed
      expect(() => scope.close()).toThrow(ScopeClosedError)
    })

    test('closeAsync() throws ScopeHeldError at its deadline, and the scope is open again', async () => {
      const scope = open()
      const hold = scope.acquire()
      await expect(scope.closeAsync({ deadline: 5 })).rejects.toThrow(ScopeHeldError)
      expect(scope.isAlive).toBe(true)
      hold.release()
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

    test('throws AllocationError for an absurd size, and the scope stays usable', () => {
      const scope = open()
      expect(() => MemorySegment.allocateNative(2 ** 52, 8, scope)).toThrow(AllocationError)
      expect(MemorySegment.allocateNative(8, 8, scope).byteSize).toBe(8)
      scope.close()
    })
  })
}

test('a scope can hold another one until its own actions run', () => {
  const root = ResourceScope.ofConfined()
  const children = Array.from({ length: 100 }, () => {
    const child = ResourceScope.ofShared()
    const hold = root.acquire()
    child.addCloseAction(() => hold.release())
    return child
  })
  for (const child of children) {
    expect(() => root.close()).toThrow(ScopeHeldError)
    child.close()
  }
  root.close()
})

describe('scopes that cannot be closed', () => {
  for (const [name, scope] of Object.entries({ implicit: ResourceScope.ofImplicit(), global: ResourceScope.global })) {
    test(`close() of the ${name} scope always throws`, () => {
      expect(() => (scope as { close(): void }).close()).toThrow(ScopeClosedError)
      expect(scope.isAlive).toBe(true)
      expect(Symbol.dispose in scope).toBe(false)
    })

    test(`a hold of the ${name} scope changes nothing`, () => {
      const hold = scope.acquire()
      hold.release()
      hold.release()
      expect(scope.isAlive).toBe(true)
    })

    test(`the ${name} scope accepts actions`, () => {
      expect(() => scope.addCloseAction(() => {})).not.toThrow()
      expect(() => scope.addCloseAction(1 as never)).toThrow(ArgumentError)
    })

    test(`the ${name} scope allocates zeroed memory`, () => {
      const segment = MemorySegment.allocateNative(100, 64, scope)
      expect(segment.address % 64n).toBe(0n)
      expect(segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(100)))).toBe(-1)
    })
  }
})

test('confined scopes and segments cannot be sent to another thread', () => {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(8)
  for (const value of [
    scope,
    segment,
    segment.asSlice(4),
    MemorySegment.ofBuffer(new Uint8Array(4)),
    MemorySegment.NULL,
  ]) {
    expect(() => structuredClone(value)).toThrow(
      /cannot be posted to another thread: use share\(\) or handoff\(\) of a scope, or a copy\) could not be cloned/,
    )
  }
  scope.close()
})

test('the option managed must be a boolean', () => {
  for (const managed of ['yes', 1, null])
    expect(() => ResourceScope.ofConfined({ managed: managed as never })).toThrow(ArgumentError)
})

test('messages contain the name of the scope', () => {
  const scope = ResourceScope.ofConfined({ name: 'request' })
  scope.close()
  expect(() => scope.close()).toThrow('the confined scope "request" is closed already')
})
