import type { Socket } from 'node:net'

const actions = new WeakMap<Socket, Set<() => void>>()

/** Calls a function when a connection ends. All functions of a connection share one listener. @returns what takes that back. */
export function onDisconnect(socket: Socket, action: () => void): () => void {
  let all = actions.get(socket)
  if (all === undefined) {
    const added = new Set<() => void>()
    all = added
    actions.set(socket, added)
    socket.once('close', () => added.forEach((one) => one()))
  }
  all.add(action)
  return () => void all.delete(action)
}
