import { packageFlags } from '@tenon/config/package-flags'
import { describe, expect, test } from 'vitest'
import { fileURLToPath } from 'node:url'
import { setImmediate } from 'node:timers/promises'
import { NativeLibrary, ScopeHeldError } from '@tenon/core'
import {
  Callback,
  coreFunctions,
  coreLibrary,
  functionAt,
  liveCallbacks,
  makeHold,
  ManagedLifetime,
  statusName,
  takeReleasedCallbacks,
  thrown,
  type PlainFunction,
} from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { fixturePath } from './fixture.ts'

const fixture = NativeLibrary.open(fixturePath('core_fixture'))
const declare = (
  name: string,
  result: Parameters<typeof functionAt>[1],
  parameters: Parameters<typeof functionAt>[2],
): PlainFunction => functionAt(Number(fixture.symbol(name)), result, parameters)

const call = declare('fixture_call', 'int32', ['uint64', 'uint64', 'uint64'])
const callFromThread = declare('fixture_call_from_thread', 'int32', ['uint64'])
const releaseFromThread = declare('fixture_release_from_thread', 'int32', ['uint64'])
const keep = declare('fixture_keep', 'void', ['uint64'])
const callKept = declare('fixture_call_kept', 'int32', [])
const drop = declare('fixture_drop', 'void', [])

describe('a callback', () => {
  test('gets what native code passes', () => {
    const seen: number[][] = []
    const callback = new Callback((...addresses) => seen.push(addresses))
    expect(statusName(call(callback.address, 4096, 2 ** 47))).toBe('OK')
    expect(seen).toEqual([[4096, 2 ** 47]])
    callback.release()
  })

  test('that throws is a failure for native code, and the error is kept', () => {
    const error = new RangeError('mine')
    const callback = new Callback(() => {
      throw error
    })
    const before = thrown.count
    expect(statusName(call(callback.address, 0, 0))).toBe('CALLBACK_FAILED')
    expect(thrown.count).toBe(before + 1)
    expect(thrown.last).toBe(error)
    callback.release()
  })

  test.each([undefined, null, 0, 'text'])('that throws %s is one too', (value) => {
    const callback = new Callback(() => {
      throw value
    })
    expect(statusName(call(callback.address, 0, 0))).toBe('CALLBACK_FAILED')
    expect(thrown.last).toBe(value)
    callback.release()
  })

  test('is refused on a foreign thread, without waiting', () => {
    let calls = 0
    const callback = new Callback(() => calls++)
    expect(statusName(callFromThread(callback.address))).toBe('WRONG_THREAD')
    expect(calls).toBe(0)
    expect(statusName(call(callback.address, 0, 0))).toBe('OK')
    expect(calls).toBe(1)
    callback.release()
  })

  test('can call native code that calls back', () => {
    let depth = 0
    const callback: Callback = new Callback(() => {
      if (++depth < 20) expect(statusName(call(callback.address, 0, 0))).toBe('OK')
    })
    expect(statusName(call(callback.address, 0, 0))).toBe('OK')
    expect(depth).toBe(20)
    callback.release()
  })

  test('an error in an inner call reaches the outer one only if it is thrown again', () => {
    const inner = new Callback(() => {
      throw new Error('inner')
    })
    const outer = new Callback(() => {
      expect(statusName(call(inner.address, 0, 0))).toBe('CALLBACK_FAILED')
    })
    expect(statusName(call(outer.address, 0, 0))).toBe('OK')
    inner.release()
    outer.release()
  })
})

describe('references', () => {
  test('the function goes when the last one is given back, on any thread', () => {
    const before = liveCallbacks()
    const callback = new Callback(() => {})
    expect(liveCallbacks()).toBe(before + 1)
    expect(statusName(releaseFromThread(callback.address))).toBe('OK')
    expect(liveCallbacks()).toBe(before + 1)
    callback.release()
    callback.release()
    expect(liveCallbacks()).toBe(before)
  })

  test('native code may keep it longer than its handle', () => {
    const before = liveCallbacks()
    let calls = 0
    const callback = new Callback(() => calls++)
    keep(callback.address)
    callback[Symbol.dispose]()
    expect(liveCallbacks()).toBe(before + 1)
    expect(statusName(callKept())).toBe('OK')
    expect(calls).toBe(1)
    drop()
    expect(liveCallbacks()).toBe(before)
  })

  test('more than koffi has slots for, and more than one batch of releases', () => {
    const before = liveCallbacks()
    let calls = 0
    const callbacks = Array.from({ length: 10_000 }, () => new Callback(() => calls++))
    for (const callback of callbacks) call(callback.address, 0, 0)
    expect(calls).toBe(10_000)
    expect(liveCallbacks()).toBe(before + 10_000)
    for (const callback of callbacks) callback.release()
    expect(liveCallbacks()).toBe(before)
  })

  test('a function is freed with its callback', async () => {
    const make = (): WeakRef<object> => {
      const big = {}
      const callback = new Callback(() => void big)
      callback.release()
      return new WeakRef(big)
    }
    const seen = make()
    for (let i = 0; i < 20 && seen.deref() !== undefined; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      globalThis.gc?.()
    }
    expect(seen.deref()).toBeUndefined()
  })
})

test('while the thread ends, callbacks are released and none is made', async () => {
  const { stdout, stderr, code } = await runScript(
    `
      import { Callback } from '@tenon/core/internal'
      const first = new Callback(() => {})
      process.on('exit', () => {
        first.release()
        first.release()
        try { new Callback(() => {}) } catch (error) { console.log(error.name) }
      })
    `,
    {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      nodeOptions: [...packageFlags, '--no-warnings'],
    },
  )
  expect([stdout, stderr, code]).toEqual(['ScopeClosedError\n', '', 0])
})

describe('a hold', () => {
  /** A lifetime that only ends. */
  class Memory extends ManagedLifetime {
    protected override get label(): string {
      return 'the memory'
    }
    protected override release(): void {}
  }

  const release = (address: number): void => coreFunctions().tn_callback_release(address)

  /** Holds a new lifetime for native code. */
  function held(): { memory: Memory; address: number } {
    const memory = new Memory()
    const hold = memory.acquire()
    return { memory, address: makeHold(() => hold.release()) }
  }

  test('that native code has released on this thread does not keep a lifetime from closing', () => {
    const { memory, address } = held()
    expect(() => memory.close()).toThrow(ScopeHeldError)
    release(address)
    memory.close()
  })

  test('that another thread has released is taken by the event loop', async () => {
    const before = liveCallbacks()
    const { memory, address } = held()
    const { async } = NativeLibrary.open(coreLibrary().path).function('tn_callback_release', { parameters: ['uint64'] })
    await async(BigInt(address))
    for (let i = 0; i < 1000 && memory.gate.holds !== 0; i++) await setImmediate()
    expect(memory.gate.holds).toBe(0)
    expect(liveCallbacks()).toBe(before)
    memory.close()
  })

  test('can be made while others are taken', () => {
    const seen: string[] = []
    const second = makeHold(() => seen.push('second'))
    release(makeHold(() => seen.push(`first, and one more at ${makeHold(() => seen.push('third')) > 0}`)))
    release(second)
    takeReleasedCallbacks()
    expect(seen).toEqual(['second', 'first, and one more at true'])
  })
})
