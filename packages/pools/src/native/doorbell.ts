import { Socket as NetSocket } from 'node:net'
import { closeDescriptor } from './descriptor.ts'
import type { Attachment } from './link.ts'
import { socketPair } from './socket.ts'

/** How the event loop learns that an answer is there. */
export interface Doorbell {
  /** What the driver needs to ring: sent once. */
  readonly attachments: readonly Attachment[]
  /** The driver has them. */
  sent(): void
  /** Keeps the process alive, or not. */
  ref(): void
  unref(): void
  /** Idempotent. */
  close(): void
}

/**
 * A doorbell for drivers behind a socket: a stream that the event loop watches, to which the driver writes a byte for each
 * answer, and which ends when it dies.
 */
export function socketDoorbell(onRing: () => void, onEnd: () => void): Doorbell {
  const [mine, theirs] = socketPair('stream')
  const stream = new NetSocket({ fd: mine, readable: true, writable: false })
  stream.on('data', onRing)
  stream.on('error', onEnd)
  stream.on('close', onEnd)
  stream.unref()
  let isOurs = true
  const sent = (): void => {
    if (isOurs) closeDescriptor(theirs)
    isOurs = false
  }
  return {
    attachments: [theirs],
    sent,
    ref: () => stream.ref(),
    unref: () => stream.unref(),
    close: () => {
      stream.destroy()
      sent()
    },
  }
}
