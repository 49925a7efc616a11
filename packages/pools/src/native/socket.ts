import { addressOf } from '@tenon/core/internal'
import { check, core, failure, out, outAddress } from './core.ts'

/** Statuses of the core that channels tell apart. */
const TIMED_OUT = -13
const CLOSED = -10

/** The largest message, in bytes, and the most descriptors that come with one. */
export const FRAME_MAXIMUM = 65_536
const DESCRIPTORS = 16

/** Two connected sockets: of messages, or a stream. The caller closes both. */
export function socketPair(kind: 'messages' | 'stream'): [number, number] {
  check(
    core('tn_channel_pair', ['int32_t', 'uintptr_t'])(kind === 'stream' ? 1 : 0, outAddress()),
    'making sockets',
    'RESOURCE_EXHAUSTED_TRANSIENT',
  )
  return [out.i32[0]!, out.i32[1]!]
}

/** Waits for connections at a path. @throws {PoolsError} */
export function listenAt(path: string): number {
  const name = Buffer.from(path)
  check(
    core('tn_channel_listen', ['uintptr_t', 'uintptr_t', 'uintptr_t'])(addressOf(name), name.length, outAddress()),
    `listening at ${path}`,
  )
  return out.i32[0]!
}

/** Connects to a path. @throws {PoolsError} `DEVICE_UNAVAILABLE` */
export function connectTo(path: string): number {
  const name = Buffer.from(path)
  const connect = core('tn_channel_connect', ['uintptr_t', 'uintptr_t', 'uintptr_t'])
  check(connect(addressOf(name), name.length, outAddress()), `connecting to ${path}`, 'DEVICE_UNAVAILABLE')
  return out.i32[0]!
}

/** The next connection of a listener; undefined if none waits or it can't be taken now. */
export function acceptFrom(listener: number): number | undefined {
  const code = Number(core('tn_channel_accept', ['int32_t', 'uintptr_t'])(listener, outAddress()))
  return code === 0 ? out.i32[0]! : undefined
}

/** The user that a connection comes from. */
export function peerUser(channel: number): number {
  check(core('tn_channel_peer', ['int32_t', 'uintptr_t'])(channel, outAddress()), 'asking who the peer is')
  return out.u32[0]!
}

/** Wakes a peer that waits for a byte on a stream. A peer that is gone is noticed elsewhere. */
export function ring(stream: number): void {
  core('tn_channel_ring', ['int32_t'])(stream)
}

/** Which of several sockets have something to read, once any has. `timeout` in milliseconds, negative for ever. */
export function pollSockets(sockets: readonly number[], timeout: number): readonly boolean[] {
  const list = Int32Array.from(sockets)
  const ready = new Uint8Array(new ArrayBuffer(Math.max(sockets.length, 1)))
  const poll = core('tn_channel_poll', ['uintptr_t', 'uintptr_t', 'int64_t', 'uintptr_t'])
  const code = Number(poll(addressOf(list), list.length, nanoseconds(timeout), addressOf(ready)))
  if (code !== TIMED_OUT) check(code, 'waiting for sockets')
  return Array.from(ready.subarray(0, sockets.length), (value) => value === 1)
}

/** Nanoseconds for the core, from milliseconds; negative stays "for ever". */
function nanoseconds(milliseconds: number): number {
  return milliseconds < 0 ? -1 : Math.min(Math.ceil(milliseconds * 1e6), Number.MAX_SAFE_INTEGER)
}

/** The peer of a channel is gone. */
export class PeerGone extends Error {}

/** One end of a channel: messages with descriptors, in buffers that are used again for each. */
export class Socket {
  /** What {@link send} sends: written by the caller before. */
  readonly sent: { readonly bytes: Buffer; readonly view: DataView }
  /** What {@link receive} received: valid until the next one. */
  readonly received: { readonly bytes: Buffer; readonly view: DataView }
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
    send: core('tn_channel_send', ['int32_t', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'int64_t']),
    receive: core('tn_channel_receive', ['int32_t', 'uintptr_t', 'uintptr_t', 'uintptr_t', 'int64_t']),
    call: core('tn_channel_call', [
      'int32_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'int64_t',
    ]),
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

  get isOpen(): boolean {
    return this.#descriptor !== -1
  }

  /** For {@link pollSockets}. */
  get descriptor(): number {
    return this.#descriptor
  }

  /**
   * Sends what was written into {@link sent}.
   *
   * @param timeout how long to wait for room, in milliseconds.
   * @throws {PeerGone} @throws {PoolsError} `MISSED_DEADLINE_TRANSIENT` if the peer doesn't read.
   */
  send(length: number, descriptors: readonly number[], timeout: number): void {
    this.#checkOpen()
    if (descriptors.length > 0) this.#descriptors.set(descriptors)
    const { sent, descriptors: at } = this.#addresses
    this.#settle(
      Number(this.#functions.send(this.#descriptor, sent, length, at, descriptors.length, nanoseconds(timeout))),
      'sending a message',
    )
  }

  /**
   * Receives a message whose layout is right into {@link received}.
   *
   * @param timeout in milliseconds; negative for ever.
   * @returns its descriptors, which are the caller's; undefined if none came in time.
   * @throws {PeerGone} @throws {PoolsError} if the message is malformed.
   */
  receive(timeout: number): readonly number[] | undefined {
    this.#checkOpen()
    const { received, descriptors, count } = this.#addresses
    const code = Number(this.#functions.receive(this.#descriptor, received, descriptors, count, nanoseconds(timeout)))
    return code === TIMED_OUT ? undefined : this.#taken(code)
  }

  /** Sends without descriptors and receives the next message. @throws as {@link send} and {@link receive} */
  call(length: number, timeout: number): readonly number[] | undefined {
    this.#checkOpen()
    const { sent, received, descriptors, count } = this.#addresses
    const code = Number(
      this.#functions.call(this.#descriptor, sent, length, received, descriptors, count, nanoseconds(timeout)),
    )
    return code === TIMED_OUT ? undefined : this.#taken(code)
  }

  /** Closes it; the peer notices at once. Idempotent. */
  close(): void {
    const descriptor = this.#descriptor
    this.#descriptor = -1
    if (descriptor !== -1) check(core('tn_descriptor_close', ['int32_t'])(descriptor), 'closing a channel')
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
