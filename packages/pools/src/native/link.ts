import { addressOf, CONSTANTS, coreFunctions, keepAlive } from '@tenon/core/internal'
import { check } from './core.ts'
import { closeDescriptor, discardDescriptor } from './descriptor.ts'

/** The largest message, in bytes. */
export const FRAME_MAXIMUM: number = CONSTANTS.TN_FRAME_MAXIMUM

/** The peer of a channel is gone. */
export class PeerGone extends Error {}

/** What travels with a message: a descriptor between processes, memory itself between threads of one. */
export type Attachment = number | SharedArrayBuffer

/** Gives an attachment of this process's own back. */
export function closeAttachment(attachment: Attachment): void {
  if (typeof attachment === 'number') closeDescriptor(attachment)
}

/** Gives an attachment back that a peer sent. */
export function discardAttachment(attachment: Attachment): void {
  if (typeof attachment === 'number') discardDescriptor(attachment)
}

/** A buffer of messages. */
export interface MessageBuffer {
  readonly bytes: Buffer
  readonly view: DataView
}

/** One end of a channel, over which messages travel with attachments. */
export interface Link {
  /** What {@link send} sends: written by the caller before. */
  readonly sent: MessageBuffer
  /** What {@link receive} received: valid until the next one. */
  readonly received: MessageBuffer
  /**
   * Sends what was written into {@link sent}. Attachments stay the caller's.
   *
   * @throws {PeerGone} @throws {PoolsError} `MISSED_DEADLINE_TRANSIENT` if the peer doesn't read.
   */
  send(length: number, attachments: readonly Attachment[], timeout: number): void
  /**
   * Receives a message whose layout is right into {@link received}.
   *
   * @param timeout in milliseconds; negative for ever.
   * @returns its attachments, which are the caller's; undefined if none came in time.
   * @throws {PeerGone} @throws {PoolsError} if the message is malformed.
   */
  receive(timeout: number): readonly Attachment[] | undefined
  /** Sends without attachments and receives the next message. @throws as {@link send} and {@link receive} */
  call(length: number, timeout: number): readonly Attachment[] | undefined
  /** Closes it; the peer notices at once. Idempotent. */
  close(): void
}

/** Checks the layout of a message that didn't come through a socket. @throws {PoolsError} */
export function checkFrame(message: Uint8Array, attachments = 0): void {
  const code = coreFunctions().tn_frame_check(addressOf(message), message.length, attachments)
  check(code, 'reading a message', 'INVALID_ARGUMENT')
  keepAlive(message)
}

/** Nanoseconds for the core, from milliseconds; negative stays "for ever". */
export function nanoseconds(milliseconds: number): number {
  return milliseconds < 0 ? -1 : Math.min(Math.ceil(milliseconds * 1e6), Number.MAX_SAFE_INTEGER)
}
