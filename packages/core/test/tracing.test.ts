import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { packageFlags } from '@tenon/config/package-flags'
import { expect, test, vi } from 'vitest'
import { runScript } from '../src/testing.ts'
import type { CallTrace } from '../src/tracing/call-trace.ts'
import { isTraced } from '../src/tracing/tracing.ts'

const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

test.each(EVENTS)('calls are traced as long as something subscribes to %s', (event) => {
  const name = `tracing:tenon:call:${event}`
  const subscribers = [() => {}, () => {}] as const
  expect(isTraced()).toBe(false)
  for (const one of subscribers) subscribe(name, one)
  expect(isTraced()).toBe(true)
  expect(unsubscribe(name, subscribers[0])).toBe(true)
  expect(isTraced()).toBe(true)
  expect(channel(name).unsubscribe(subscribers[1])).toBe(true)
  expect(isTraced()).toBe(false)
  expect(unsubscribe(name, subscribers[1])).toBe(false)
  expect(isTraced()).toBe(false)
})

test('calls are traced for a subscriber of some events, and for a store that is bound to start', () => {
  const calls = tracingChannel('tenon:call')
  const onlyEnds = { asyncEnd() {} } as never
  calls.subscribe(onlyEnds)
  expect(isTraced()).toBe(true)
  calls.unsubscribe(onlyEnds)
  expect(isTraced()).toBe(false)
  const store = new AsyncLocalStorage()
  calls.start.bindStore(store)
  expect(isTraced()).toBe(true)
  calls.start.unbindStore(store)
  expect(isTraced()).toBe(false)
})

test('another copy of the core, and one that is loaded after the subscriber, know of it too', async () => {
  vi.resetModules()
  const second = await import('../src/tracing/tracing.ts')
  expect(second.isTraced).not.toBe(isTraced)
  const note = (): void => {}
  subscribe('tracing:tenon:call:end', note)
  expect([isTraced(), second.isTraced()]).toEqual([true, true])
  vi.resetModules()
  const third = await import('../src/tracing/tracing.ts')
  expect(third.isTraced()).toBe(true)
  unsubscribe('tracing:tenon:call:end', note)
  expect([isTraced(), second.isTraced(), third.isTraced()]).toEqual([false, false, false])
})

test('a subscriber that is not a function is refused, and changes nothing', () => {
  expect(() => channel('tracing:tenon:call:start').subscribe('note' as never)).toThrow(TypeError)
  expect(isTraced()).toBe(channel('tracing:tenon:call:start').hasSubscribers)
})

// Another library of C elsewhere.
test.runIf(process.platform === 'linux')(
  'an asynchronous call that waits for the only thread has the time until it begins as its queue time',
  async () => {
    const script = `
      import { tracingChannel } from 'node:diagnostics_channel'
      import { NativeLibrary } from '@tenon/core'
      const messages = []
      const nothing = () => {}
      const asyncEnd = (message) => messages.push(message)
      tracingChannel('tenon:call').subscribe({ start: nothing, end: nothing, asyncStart: nothing, asyncEnd, error: nothing })
      const sleep = NativeLibrary.open('libc.so.6').function('usleep', { result: 'int32', parameters: ['uint32'] })
      await Promise.all([sleep.async(100_000), sleep.async(1)])
      console.log(JSON.stringify(messages))`
    const { stdout } = await runScript(script, {
      cwd: join(import.meta.dirname, '..'),
      nodeOptions: packageFlags,
      env: { TENON_THREADS: '1' },
    })
    const [first, second] = JSON.parse(stdout) as [CallTrace, CallTrace]
    const begun = ({ startTime, queueTime }: CallTrace): number => startTime + queueTime / 1e6
    // The system never sleeps for a shorter time.
    expect(begun(second) - begun(first)).toBeGreaterThan(99)
    expect(first.queueTime).toBeGreaterThan(0)
    expect(first.runTime).toBeGreaterThan(99e6)
  },
)
