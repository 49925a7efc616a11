import { isMainThread } from 'node:worker_threads'

const actions = new Set<() => void>()

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs an action when the process ends: by itself, or by a signal for which the program has no listener.
 *
 * @returns a function that takes the action back
 */
export function onProcessEnd(action: () => void): () => void {
  if (actions.size === 0) listen()
  actions.add(action)
  return () => {
    if (actions.delete(action) && actions.size === 0) stopListening()
  }
}

function listen(): void {
  process.on('exit', runActions)
  // Workers do not get signals.
  if (isMainThread) for (const signal of signals) process.on(signal, endBySignal)
}

function stopListening(): void {
  process.off('exit', runActions)
  for (const signal of signals) process.off(signal, endBySignal)
}

function runActions(): void {
  for (const action of actions) action()
}

/** The program decides whether it ends, if it has a listener. */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  runActions()
  stopListening()
  process.kill(process.pid, signal)
}
