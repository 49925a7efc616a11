import { channel, type Channel } from 'node:diagnostics_channel'

const EVENTS = [
  'start',
  'ready',
  'exit',
  'crash',
  'deadline',
  'memory',
  'restart',
  'failed',
  'output',
  'unfiltered',
] as const

/** The names of the events of workers. */
export type WorkerEvent = (typeof EVENTS)[number]

const channels = Object.fromEntries(EVENTS.map((event) => [event, channel(`tenon:isolate:${event}`)])) as Readonly<
  Record<WorkerEvent, Channel>
>

/** Publishes an event. Its message is made only if somebody subscribes. */
export function publish(event: WorkerEvent, makeMessage: () => Readonly<Record<string, unknown>>): void {
  const { [event]: to } = channels
  if (to.hasSubscribers) to.publish(makeMessage())
}

/** The channel of what calls have written, which is read only for subscribers. */
export const outputChannel: Channel = channels.output
