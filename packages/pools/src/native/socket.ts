import { addressOf, CONSTANTS, keepAlive, STATUS } from '@tenon/core/internal'
import { PoolsError } from '../error-status.ts'
import { check, failure, out, outAddress, sharing } from './core.ts'
import { FRAME_MAXIMUM, nanoseconds, PeerGone, type Attachment, type Link, type MessageBuffer } from './link.ts'

/** Statuses of the core that channels tell apart. */
const { value: TIMED_OUT } = STATUS.TIMED_OUT
const { value: CLOSED } = STATUS.CLOSED

/** The most descriptors that come with a message. */
export const DESCRIPTORS: number = CONSTANTS.TN_FRAME_DESCRIPTORS

/** Two connected sockets: of messages, or a stream. The caller closes both. */
export function socketPair(kind: 'messages' | 'stream'): [number, number] {
  check(
    sharing().tn_channel_pair(kind === 'stream' ? 1 : 0, outAddress()),
    'making sockets',
    'RESOURCE_EXHAUSTED_TRANSIENT',
  )
  return [out.i32[0]!, out.i32[1]!]
}

/** Waits for connections at a path. @throws {PoolsError} */
export function listenAt(path: string): number {
  const name = Buffer.from(path)
  check(sharing().tn_channel_listen(addressOf(name), name.length, outAddress()), `listening at ${path}`)
  keepAlive(name)
  return out.i32[0]!
}

/** Connects to a path. @throws {PoolsError} `DEVICE_UNAVAILABLE` */
export function connectTo(path: string): number {
  const name = Buffer.from(path)
  const code = sharing().tn_channel_connect(addressOf(name), name.length, outAddress())
  check(code, `connecting to ${path}`, 'DEVICE_UNAVAILABLE')
  keepAlive(name)
  return out.i32[0]!
}

/** The next connection of a listener; undefined if none waits or it can't be taken now. */
export function acceptFrom(listener: number): number | undefined {
  const code = sharing().tn_channel_accept(listener, outAddress())
  return code === 0 ? out.i32[0]! : undefined
}

/** The user that a connection comes from. */
export function peerUser(channel: number): number {
  check(sharing().tn_channel_peer(channel, outAddress()), 'asking who the peer is')
  return out.u32[0]!
}

/** Wakes a peer that waits for a byte on a stream. A peer that is gone is noticed elsewhere. */
export function ring(stream: number): void {
  sharing().tn_channel_ring(stream)
}

/** Which of several sockets have something to read, once any has. `timeout` in milliseconds, negative for ever. */
export function pollSockets(sockets: readonly number[], timeout: number): readonly boolean[] {
  // One block for both: it is needed after the call, so the collector can't take it before, as it could a list of its own.
  const count = sockets.length
  const memory = new ArrayBuffer(Math.max(5 * count, 1))
  const [list, ready] = [new Int32Array(memory, 0, count), new Uint8Array(memory, 4 * count, count)]
  list.set(sockets)
  const start = addressOf(memory)
  const code = sharing().tn_channel_poll(start, count, nanoseconds(timeout), start + 4 * count)
  if (code !== TIMED_OUT) check(code, 'waiting for sockets')
  return Array.from(ready, (value) => value === 1)
}

/** What a fence has come to: see `tn_fence_status`. */
export type FenceStatus = 'active' | 'signaled' | 'failed'

/** Looks at a fence, without changing it. @throws {PoolsError} `INVALID_ARGUMENT` if the descriptor is something else. */
export function fenceStatus(fence: number): FenceStatus {
  const code = sharing().tn_fence_status(fence, outAddress())
  if (code !== 0) throw failure('INVALID_ARGUMENT', 'looking at a fence', code)
  const [state] = out.i32
  if (state === CONSTANTS.TN_FENCE_ACTIVE) return 'active'
  return state === CONSTANTS.TN_FENCE_SIGNALED ? 'signaled' : 'failed'
}

/** One end of a channel to another process: messages with descriptors, in buffers that are used again for each. */
export class Socket implements Link {
  readonly sent: MessageBuffer
  readonly received: MessageBuffer
  readonly #descriptors: Int32Array
  readonly #addresses: {
    readonly sent: number
    readonly received: number
    readonly descriptors: number
    readonly count: number
  }
  /** Only its lower half: there are never more than a few. */
  readonly #count: Uint32Array
  readonly #functions = {
    send: sharing().tn_channel_send,
    receive: sharing().tn_channel_receive,
    call: sharing().tn_channel_call,
  }
  #descriptor: number

  /** Takes the descriptor over. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor
    const buffers = [
      new ArrayBuffer(FRAME_MAXIMUM),
      new ArrayBuffer(FRAME_MAXIMUM),
      new ArrayBuffer(DESCRIPTORS * 4),
      new ArrayBuffer(8),
    ] as const
    const [sent, received, descriptors, count] = buffers
    this.sent = { bytes: Buffer.from(sent), view: new DataView(sent) }
    this.received = { bytes: Buffer.from(received), view: new DataView(received) }
    this.#descriptors = new Int32Array(descriptors)
    this.#count = new Uint32Array(count)
    this.#addresses = {
      sent: addressOf(sent),
      received: addressOf(received),
      descriptors: addressOf(descriptors),
      count: addressOf(count),
    }
  }

  /** For {@link pollSockets}. */
  get descriptor(): number {
    return this.#descriptor
  }

  send(length: number, attachments: readonly Attachment[], timeout: number): void {
    this.#checkOpen()
    const descriptors = attachments.length === 0 ? NO_DESCRIPTORS : attachments.map(descriptorOf)
    if (descriptors.length > 0) this.#descriptors.set(descriptors)
    const { sent, descriptors: at } = this.#addresses
    const code = this.#functions.send(this.#descriptor, sent, length, at, descriptors.length, nanoseconds(timeout))
    this.#settle(code, 'sending a message')
  }

  receive(timeout: number): readonly number[] | undefined {
    this.#checkOpen()
    const { received, descriptors, count } = this.#addresses
    const code = this.#functions.receive(this.#descriptor, received, descriptors, count, nanoseconds(timeout))
    return code === TIMED_OUT ? undefined : this.#taken(code)
  }

  call(length: number, timeout: number): readonly number[] | undefined {
    this.#checkOpen()
    const { sent, received, descriptors, count } = this.#addresses
    const { call } = this.#functions
    const code = call(this.#descriptor, sent, length, received, descriptors, count, nanoseconds(timeout))
    return code === TIMED_OUT ? undefined : this.#taken(code)
  }

  close(): void {
    const descriptor = this.#descriptor
    this.#descriptor = -1
    if (descriptor !== -1) check(sharing().tn_descriptor_close(descriptor), 'closing a channel')
  }

  #taken(code: number): readonly number[] {
    this.#settle(code, 'receiving a message')
    const count = this.#count[0]!
    return count === 0 ? NO_DESCRIPTORS : Array.from(this.#descriptors.subarray(0, count))
  }

  #settle(code: number, what: string): void {
    if (code === 0) return
    if (code === CLOSED) throw new PeerGone('the peer is gone')
    throw failure(code === TIMED_OUT ? 'MISSED_DEADLINE_TRANSIENT' : 'GENERAL_FAILURE', what, code)
  }

  #checkOpen(): void {
    if (this.#descriptor === -1) throw new PeerGone('the channel is closed')
  }
}

const NO_DESCRIPTORS: readonly number[] = Object.freeze([])

/** Memory of this process alone can't leave it. @throws {PoolsError} */
function descriptorOf(attachment: Attachment): number {
  if (typeof attachment === 'number') return attachment
  throw new PoolsError('INVALID_ARGUMENT', 'memory of this process alone can only be used by its own threads')
}
