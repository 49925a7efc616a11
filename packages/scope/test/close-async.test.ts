import { ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NativeScope, ResourceScope } from '../src/index.ts'
import { expectNoLeaks } from '../src/testing.ts'

expectNoLeaks({ beforeEach, afterEach })

const scopes = {
  'a confined scope': () => ResourceScope.ofConfined(),
  'a confined arena': () => NativeScope.ofConfined(),
  'a shared arena': () => NativeScope.ofShared(),
}

describe.each(Object.entries(scopes))('while closeAsync() of %s waits', (_, open) => {
  test('disposal throws ScopeHeldError as long as the scope is held', async () => {
    const scope = open()
    const hold = scope.acquire()
    const closed = scope.closeAsync({ deadline: 40 })
    // Disposal that does nothing would leave the scope open for ever after the deadline.
    expect(() => scope[Symbol.dispose]()).toThrow(ScopeHeldError)
    expect(scope.isAlive).toBe(false)
    expect(() => scope.acquire()).toThrow(ScopeClosedError)
    expect(() => scope.close()).toThrow(ScopeClosedError)
    await expect(closed).rejects.toThrow(ScopeHeldError)
    hold.release()
    scope[Symbol.dispose]()
    expect(() => scope.checkAlive()).toThrow(ScopeClosedError)
  })

  test('disposal closes the scope at once when nothing holds it any more', async () => {
    const scope = open()
    const order: string[] = []
    scope.addCloseAction(() => order.push('action'))
    const hold = scope.acquire()
    const closed = scope.closeAsync().then(() => order.push('closeAsync'))
    hold.release()
    scope[Symbol.dispose]()
    order.push('disposed')
    scope[Symbol.dispose]()
    await closed
    expect(order).toEqual(['action', 'disposed', 'closeAsync'])
    expect(scope.isAlive).toBe(false)
    expect(() => scope.close()).toThrow(ScopeClosedError)
  })

  test('run() reports that it could not close the scope', async () => {
    const scope = open()
    const hold = scope.acquire()
    let closed: Promise<void> | undefined
    expect(() => scope.run(() => void (closed = scope.closeAsync({ deadline: 1 })))).toThrow(ScopeHeldError)
    await expect(closed).rejects.toThrow(ScopeHeldError)
    hold.release()
    scope.close()
  })

  test('asynchronous disposal waits for it, and closes the scope if it has missed its deadline', async () => {
    for (const deadline of [5, undefined]) {
      const scope = open()
      const hold = scope.acquire()
      const closed = scope.closeAsync(deadline === undefined ? undefined : { deadline })
      const outcome = closed.then(
        () => 'closed',
        (error: unknown) => (error as ScopeHeldError).code,
      )
      let isDisposed = false
      const disposed = scope[Symbol.asyncDispose]().then(() => (isDisposed = true))
      await setTimeout(30)
      expect(isDisposed).toBe(false)
      hold.release()
      await disposed
      expect(await outcome).toBe(deadline === undefined ? 'closed' : 'TENON_SCOPE_HELD')
      expect(() => scope.checkAlive()).toThrow(ScopeClosedError)
    }
  })

  test('its options are read before the scope is checked', async () => {
    const scope = open()
    const options = {
      get deadline() {
        scope.close()
        return 1
      },
    }
    await expect(scope.closeAsync(options)).rejects.toThrow(ScopeClosedError)
    expect(scope.isAlive).toBe(false)
  })
})

test('a handle of a shared scope that waits for others can be disposed once they are detached', async () => {
  const scope = NativeScope.ofShared()
  const { scope: other } = ResourceScope.attach(scope.share())
  const closed = scope.closeAsync()
  expect(() => scope[Symbol.dispose]()).toThrow(/used by 1 other handle/)
  expect(() => ResourceScope.attach(scope.share())).toThrow(ScopeClosedError)
  other[Symbol.dispose]()
  scope[Symbol.dispose]()
  await closed
  expect(scope.isAlive).toBe(false)
})

test('an attached handle in closeAsync() is not left open by its disposal', async () => {
  const scope = NativeScope.ofShared()
  const { scope: other } = ResourceScope.attach(scope.share())
  const closed = other.closeAsync({ deadline: 20 })
  expect(() => other[Symbol.dispose]()).toThrow(ScopeHeldError)
  const disposed = other[Symbol.asyncDispose]()
  await expect(closed).rejects.toThrow(ScopeHeldError)
  await disposed
  expect(other.isAlive).toBe(false)
  scope.close()
})
