import { channel, type Channel } from 'node:diagnostics_channel'
import { debugLeaks } from './debug.ts'

interface Observed {
  /** The name of the scope, if it has one. */
  readonly name: string | undefined
  readonly kind: 'confined' | 'shared'
}

/** An event on one of the channels `tenon:scope:open`, `tenon:scope:close` and `tenon:scope:leak`. */
export interface ScopeEvent extends Observed {
  /** A number that counts the tracked scopes of this thread, or 0 for a scope that is not tracked. */
  readonly id: number
  /** The stack trace of the call that opened the scope, recorded with `TENON_DEBUG=leaks` or inside `trackLeaks()`. */
  readonly stack: string | undefined
}

const opened: Channel = channel('tenon:scope:open')
const closed: Channel = channel('tenon:scope:close')
const leaked: Channel = channel('tenon:scope:leak')

/** The open scopes with the stacks of their openings, while tracking is on. */
const origins = new Map<Observed, { id: number; stack: string }>()
let lastId = 0
let trackers = debugLeaks ? 1 : 0
let reportsAtExit = false

function eventOf(scope: Observed): ScopeEvent {
  const origin = origins.get(scope)
  return { id: origin?.id ?? 0, name: scope.name, kind: scope.kind, stack: origin?.stack }
}

export function noteOpen(scope: Observed): void {
  if (trackers > 0) remember(scope)
  if (opened.hasSubscribers) opened.publish(eventOf(scope))
}

export function noteClose(scope: Observed): void {
  if (closed.hasSubscribers) closed.publish(eventOf(scope))
  if (trackers > 0) origins.delete(scope)
}

export function noteLeak(event: ScopeEvent): void {
  if (leaked.hasSubscribers) leaked.publish(event)
}

function remember(scope: Observed): void {
  const frames = (new Error('opened here').stack ?? '').split('\n').slice(1)
  const first = frames.findIndex((frame) => !/[\\/]scope[\\/](src|dist)[\\/]/.test(frame))
  origins.set(scope, { id: ++lastId, stack: frames.slice(first).join('\n') })
  if (!debugLeaks || reportsAtExit) return
  reportsAtExit = true
  process.once('exit', () => {
    for (const leak of openScopes()) {
      noteLeak(leak)
      process.stderr.write(
        `tenon: ${leak.kind} scope ${leak.name ?? 'without a name'} was never closed. It was opened\n${leak.stack}\n`,
      )
    }
  })
}

/** The open scopes among those opened since tracking began. */
export function openScopes(): ScopeEvent[] {
  return [...origins.keys()].map(eventOf)
}

/** Records where scopes are opened, until the returned function is called. */
export function trackOrigins(): () => void {
  trackers++
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    if (--trackers === 0) origins.clear()
  }
}
