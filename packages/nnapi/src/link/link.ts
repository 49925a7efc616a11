import { addressOf, CONSTANTS, coreFunctions, keepAlive } from '@tenon/core/internal'
import { type Attachment, check, discardDescriptor } from '@tenon/pools/internal'

/** The largest message, in bytes. */
export const FRAME_MAXIMUM: number = CONSTANTS.TN_FRAME_MAXIMUM

/** Thrown when the peer of a channel has closed it, or has died. */
export class PeerGone extends Error {}

/** Closes an attachment from a peer. */
export function discardAttachment(attachment: Attachment): void {
  if (typeof attachment === 'number') discardDescriptor(attachment)
}

export interface MessageBuffer {
  readonly bytes: Buffer
  readonly view: DataView
}

export function messageBuffer(): MessageBuffer {
  const memory = new ArrayBuffer(FRAME_MAXIMUM)
  return { bytes: Buffer.from(memory), view: new DataView(memory) }
}

/** One end of a channel, over which messages travel with attachments. */
export interface Link {
  readonly sent: MessageBuffer
  /** The message that {@link receive} has received, valid until the next one. */
  readonly received: MessageBuffer
  /**
   * Sends {@link sent}; the caller keeps the attachments.
   *
   * @param isNote whether the peer may read the message a moment later. @throws {PeerGone} @throws {PoolsError} if nobody reads
   */
  send(length: number, attachments: readonly Attachment[], timeout: number, isNote?: boolean): void
  /**
   * Receives a message of valid layout into {@link received}, at most `timeout` milliseconds, or for ever if negative.
   * The attachments, undefined after the timeout, become the caller's.
   *
   * @throws {PeerGone} @throws {PoolsError} if the message is malformed.
   */
  receive(timeout: number): readonly Attachment[] | undefined
  /** Sends without attachments and receives the next message. @throws as {@link send} and {@link receive} */
  call(length: number, timeout: number): readonly Attachment[] | undefined
  /** Closes it; the peer notices at once. Idempotent. */
  close(): void
}

/** Checks the layout of a message that did not arrive through a socket. @throws {PoolsError} */
export function checkFrame(message: Uint8Array, attachments = 0): void {
  const code = coreFunctions().tn_frame_check(addressOf(message), message.length, attachments)
  check(code, 'reading a message', 'INVALID_ARGUMENT')
  keepAlive(message)
}
