import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { expect, test, vi } from 'vitest'
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
