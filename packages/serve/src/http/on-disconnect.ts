import type { Socket } from 'node:net'

type Event = 'close' | 'end'

const actions: Readonly<Record<Event, WeakMap<Socket, Set<() => void>>>> = { close: new WeakMap(), end: new WeakMap() }

/**
 * Calls a function when a connection ends, or when its client ends its side (`end`). All functions of a connection share one listener.
 *
 * @returns what takes that back.
 */
export function onDisconnect(socket: Socket, action: () => void, event: Event = 'close'): () => void {
  let all = actions[event].get(socket)
  if (all === undefined) {
    const added = new Set<() => void>()
    all = added
    actions[event].set(socket, added)
    socket.once(event, () => added.forEach((one) => one()))
  }
  all.add(action)
  return () => void all.delete(action)
}
