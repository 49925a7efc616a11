import { ArgumentRangeError } from '@tenon/core'
import { addressOf, keepAlive, STATUS, wrongType } from '@tenon/core/internal'
import type { PoolsError } from '../error-status.ts'
import { check, failure, nanoseconds, out, outAddress, sharing } from '../native/core.ts'
import { closeDescriptor } from './descriptor.ts'
import { DESCRIPTORS } from './local-socket.ts'

const { INVALID_ARGUMENT, NOT_FOUND, TIMED_OUT } = STATUS

/** A day, in ms. */
const LONGEST = 86_400_000

/** @throws {ArgumentError | ArgumentRangeError} for other values than milliseconds above 0 */
export function checkTimeout(timeout: unknown): number {
  if (typeof timeout !== 'number') throw wrongType('timeout', 'a number of ms', timeout)
  if (!(timeout > 0)) throw new ArgumentRangeError(`timeout must be above 0 ms, got ${timeout}`)
  return timeout
}

/**
 * Connects to the socket at which a program listens, of messages or of a stream.
 *
 * @param absent the error if nobody listens. @throws {PoolsError}
 */
export function connectToListener(path: string, timeout: number, absent: () => PoolsError): number {
  const code = tryConnect(path, timeout)
  if (code === 0) return out.i32[0]!
  if (code === NOT_FOUND.value) throw absent()
  throw failure('DEVICE_UNAVAILABLE', `connecting to ${path}`, code)
}

/** Whether a program listens at a path. */
export function isListening(path: string): boolean {
  const code = tryConnect(path, 100)
  if (code === 0) closeDescriptor(out.i32[0]!)
  return code !== NOT_FOUND.value
}

function tryConnect(path: string, timeout: number): number {
  const bytes = Buffer.from(path)
  const limit = nanoseconds(Math.min(timeout, LONGEST))
  const code = sharing().tn_shared_memory_connect(addressOf(bytes), bytes.length, limit, outAddress())
  keepAlive(bytes)
  return code
}

/**
 * Receives the next message of another program, and adds its descriptors to those that the caller closes.
 *
 * @param capacity the most bytes. A longer message is refused, and a stream is read up to there.
 * @param what the operation, for messages. @param late the error if nothing has arrived. @throws {PoolsError}
 */
export function receiveMessage(
  channel: number,
  capacity: number,
  descriptors: number[],
  what: string,
  late: () => PoolsError,
): { readonly bytes: Buffer; readonly descriptors: number } {
  const bytes = Buffer.alloc(capacity)
  const list = new Int32Array(DESCRIPTORS)
  const at = outAddress()
  const { tn_shared_memory_receive: take } = sharing()
  const code = take(channel, addressOf(bytes), bytes.length, at, addressOf(list), at + 8, 0)
  const [length, count] = [Number(out.u64[0]), Number(out.u64[1])]
  keepAlive(bytes)
  keepAlive(list)
  if (code === TIMED_OUT.value) throw late()
  check(code, what, code === INVALID_ARGUMENT.value ? 'INVALID_ARGUMENT' : 'DEVICE_UNAVAILABLE')
  descriptors.push(...list.subarray(0, count))
  return { bytes: bytes.subarray(0, length), descriptors: count }
}
