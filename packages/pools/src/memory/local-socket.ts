import { addressOf, CONSTANTS, keepAlive } from '@tenon/core/internal'
import { check, out, outAddress, sharing } from '../native/core.ts'

/** The most descriptors of a message. */
export const DESCRIPTORS: number = CONSTANTS.TN_FRAME_DESCRIPTORS

/** Makes two connected sockets: of messages, or a stream. The caller closes both. */
export function socketPair(kind: 'messages' | 'stream'): [number, number] {
  const code = sharing().tn_channel_pair(kind === 'stream' ? 1 : 0, outAddress())
  check(code, 'making sockets', 'RESOURCE_EXHAUSTED_TRANSIENT')
  return [out.i32[0]!, out.i32[1]!]
}

export function listenAt(path: string): number {
  const name = Buffer.from(path)
  check(sharing().tn_channel_listen(addressOf(name), name.length, outAddress()), `listening at ${path}`)
  keepAlive(name)
  return out.i32[0]!
}

export function connectTo(path: string): number {
  const name = Buffer.from(path)
  const code = sharing().tn_channel_connect(addressOf(name), name.length, outAddress())
  check(code, `connecting to ${path}`, 'DEVICE_UNAVAILABLE')
  keepAlive(name)
  return out.i32[0]!
}

/** Accepts the next connection of a listener; undefined if none waits or it cannot be accepted now. */
export function acceptFrom(listener: number): number | undefined {
  const code = sharing().tn_channel_accept(listener, outAddress())
  return code === 0 ? out.i32[0]! : undefined
}

export function peerUser(channel: number): number {
  check(sharing().tn_channel_peer(channel, outAddress()), 'examining the peer')
  return out.u32[0]!
}
