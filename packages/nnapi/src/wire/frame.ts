import { CONSTANTS, LAYOUTS } from '@tenon/core/internal'

/**
 * The header of every message and the two messages of an execution, as `tn_frame_t` and the structures below it have them
 * in the core's header. Little-endian; offsets in bytes. The core checks the layout of what is received.
 */
export const operations = {
  HELLO: 1,
  PREPARE: 2,
  RELEASE_MODEL: 3,
  EXECUTE: CONSTANTS.TN_FRAME_EXECUTE as 4,
  ALLOCATE: 5,
  RELEASE_BUFFER: 6,
  COPY_FROM: 7,
  COPY_TO: 8,
  REGISTER_POOL: 9,
  RELEASE_POOL: 10,
  SUPPORTED: 11,
  CANCEL: 12,
  EXECUTE_FENCED: 13,
  FENCED_INFO: 14,
  /** From a front to an executor: the socket of a client, whose first message can be read. */
  ADOPT: 15,
  /** The dimensions of the value of a device buffer. */
  BUFFER_SHAPE: 16,
  /** The socket of another thread of the client, which uses the models and buffers of this one. */
  JOIN: 17,
} as const

const { size, offsets: AT } = LAYOUTS.tn_frame_t
export const HEADER_SIZE: number = size
export const HEADER_ID: number = AT.id
export const HEADER_TIMEOUT: number = AT.timeout
const { TN_FRAME_MAGIC: MAGIC, TN_FRAME_VERSION: VERSION, TN_FRAME_REPLY: REPLY, TN_FRAME_RING: RING } = CONSTANTS

export interface FrameHeader {
  readonly operation: number
  readonly isReply: boolean
  readonly length: number
  readonly rings: boolean
  readonly id: number
  /** The time for the answer in milliseconds; undefined for any time. */
  readonly timeout: number | undefined
  readonly status: number
  readonly priority: number
}

export type HeaderFields = Pick<FrameHeader, 'operation' | 'id'> &
  Partial<Omit<FrameHeader, 'length'>> & { readonly descriptors?: number }

export function writeHeader(view: DataView, length: number, fields: HeaderFields): void {
  const { operation, id, isReply = false, descriptors = 0, rings = false, timeout, status = 0, priority = 0 } = fields
  const nanoseconds = timeout === undefined ? 0 : Math.max(1, Math.ceil(timeout * 1e6))
  view.setUint32(AT.magic, MAGIC, true)
  view.setUint16(AT.version, VERSION, true)
  view.setUint16(AT.operation, isReply ? operation | REPLY : operation, true)
  view.setUint32(AT.length, length, true)
  view.setUint16(AT.descriptors, descriptors, true)
  view.setUint16(AT.flags, rings ? RING : 0, true)
  writeU64(view, AT.id, id)
  writeU64(view, AT.timeout, nanoseconds)
  view.setInt32(AT.status, status, true)
  view.setUint32(AT.priority, priority, true)
}

export const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

export function readHeader(view: DataView): FrameHeader {
  const operation = view.getUint16(AT.operation, true)
  const nanoseconds = readU64(view, AT.timeout)
  return {
    operation: operation & ~REPLY,
    isReply: (operation & REPLY) !== 0,
    length: view.getUint32(AT.length, true),
    rings: view.getUint16(AT.flags, true) === RING,
    id: readU64(view, AT.id),
    timeout: nanoseconds === 0 ? undefined : nanoseconds / 1e6,
    status: view.getInt32(AT.status, true),
    priority: view.getUint32(AT.priority, true),
  }
}

/** Reads a number. Above 2^53 it loses its last bits, so that it equals no valid id. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32
}

export function writeU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true)
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true)
}
