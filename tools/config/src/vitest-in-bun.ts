/**
 * The parts that vitest needs from Bun, which `--preload` runs before it: streams that count listeners as Node.js does, and a channel to a child
 * process whose reference can be dropped.
 */
import { EventEmitter } from 'node:events'

for (const stream of [process.stdout, process.stderr]) stream.getMaxListeners = () => 1000

for (const name of ['ref', 'unref']) {
  Object.defineProperty(EventEmitter.prototype, name, {
    configurable: true,
    writable: true,
    value(this: EventEmitter) {
      return this
    },
  })
}
