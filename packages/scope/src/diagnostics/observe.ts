import { channel, type Channel } from 'node:diagnostics_channel'
import type { ManagedScope } from '../scope/managed-scope.ts'
import { debugLeaks } from './debug.ts'

/** What the channels `tenon:scope:open`, `tenon:scope:close` and `tenon:scope:leak` tell about a scope. */
export interface ScopeEvent {
  /** Counts the scopes that were observed on this thread; 0 if it was not observed. */
  readonly id: number
  /** Its name, if it has one. */
  readonly name: string | undefined
  readonly kind: 'confined' | 'shared'
  /** Where it was opened, with `TENON_DEBUG=leaks` or inside `trackLeaks()`. */
  readonly stack: string | undefined
}

const opened: Channel = channel('tenon:scope:open')
const closed: Channel = channel('tenon:scope:close')
const leaked: Channel = channel('tenon:scope:leak')

/** The open scopes with the stacks of their openers, while somebody asks for it. */
const origins = new Map<ManagedScope, { id: number; stack: string }>()
let lastId = 0
let trackers = debugLeaks ? 1 : 0
let reportsAtExit = false

function eventOf(scope: ManagedScope): ScopeEvent {
  const origin = origins.get(scope)
  return { id: origin?.id ?? 0, name: scope.name, kind: scope.kind, stack: origin?.stack }
}

/** A scope was opened. */
export function noteOpen(scope: ManagedScope): void {
  if (trackers > 0) remember(scope)
  if (opened.hasSubscribers) opened.publish(eventOf(scope))
}

/** A scope was closed. */
export function noteClose(scope: ManagedScope): void {
  if (closed.hasSubscribers) closed.publish(eventOf(scope))
  if (trackers > 0) origins.delete(scope)
}

/** A scope was given up by everybody, and is open. */
export function noteLeak(event: ScopeEvent): void {
  if (leaked.hasSubscribers) leaked.publish(event)
}

function remember(scope: ManagedScope): void {
  const frames = (new Error('opened here').stack ?? '').split('\n').slice(1)
  const first = frames.findIndex((frame) => !/[\\/]scope[\\/](src|dist)[\\/]/.test(frame))
  origins.set(scope, { id: ++lastId, stack: frames.slice(first).join('\n') })
  if (!debugLeaks || reportsAtExit) return
  reportsAtExit = true
  process.once('exit', () => {
    for (const leak of openScopes()) {
      noteLeak(leak)
      process.stderr.write(
        `tenon: ${leak.kind} scope ${leak.name ?? 'without a name'} was never closed, opened\n${leak.stack}\n`,
      )
    }
  })
}

/** The scopes that are open, of those opened since tracking began. */
export function openScopes(): ScopeEvent[] {
  return [...origins.keys()].map(eventOf)
}

/** Remembers where scopes are opened until the returned function is called. */
export function trackOrigins(): () => void {
  trackers++
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    if (--trackers === 0) origins.clear()
  }
}
