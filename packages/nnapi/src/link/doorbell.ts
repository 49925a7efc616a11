import { Socket as NetSocket } from 'node:net'
import { closeDescriptor, leaveDescriptor, type Attachment, socketPair } from '@tenon/pools/internal'

/** Tells the event loop that an answer has arrived. */
export interface Doorbell {
  /** The attachments with which the driver rings, sent once. */
  readonly attachments: readonly Attachment[]
  /** Closes the attachments after they were sent. */
  sent(): void
  /** Keeps the process alive until {@link unref}. */
  ref(): void
  unref(): void
  /** Idempotent. */
  close(): void
}

/** Makes a stream, into which the driver writes a byte for each answer, and which ends when the driver dies. */
export function socketDoorbell(onRing: () => void, onEnd: () => void): Doorbell {
  const [mine, theirs] = socketPair('stream')
  leaveDescriptor(mine)
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
