import { isPromise } from 'node:util/types'
import type { Device } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { isDevice, OpaquePointer } from '../values/scalars.ts'
import { openStack, type Stack } from './stack.ts'
import { TypeIndex } from './type-index.ts'

/**
 * The stream of a device on which kernels that this thread calls do their work, such as a `cudaStream_t`. Address 0 is the
 * device's default stream.
 *
 * @throws {ArgumentError} if `device` is not a device.
 * @example
 * currentStream(device('cuda:0')).address // 0n
 */
export function currentStream(device: Device): OpaquePointer {
  const { type, id } = checkDevice(device)
  const stack = openStack()
  return stack.frame(0, (slot) => {
    stack.host.tn_packed_get_stream(stack.slotAddress(slot), type, id)
    return new OpaquePointer(pointerIn(stack, slot))
  })
}

/**
 * Runs a function with another stream of a device, and restores the former stream when the function returns or throws. Calls with
 * `.async` run on other threads, which have streams of their own.
 *
 * @param stream the stream, which the caller keeps alive: its address, an object with the address as its `handle`, such as a `CudaStream` of
 * `@tenon/custom-call`, or null for the default stream.
 * @param run a synchronous function, because the code behind an `await` would run with the former stream.
 * @returns what `run` returns.
 * @throws {ArgumentError} if an argument has the wrong type. @throws {PackedFuncError} of kind `TypeError` if `run` returns a
 * promise.
 * @example
 * withStream(device('cuda:0'), null, () => currentStream(device('cuda:0')).address) // 0n
 */
export function withStream<Result>(
  device: Device,
  stream: OpaquePointer | { readonly handle: bigint } | bigint | null,
  run: () => Result,
): Result {
  const { type, id } = checkDevice(device)
  const address = addressOfStream(stream)
  if (typeof run !== 'function') throw wrongType('run', 'a function', run)
  const former = replaceStream(type, id, address)
  let result: Result
  try {
    result = run()
  } finally {
    replaceStream(type, id, former)
  }
  if (!isPromise(result)) return result
  result.catch(() => {})
  throw new PackedFuncTypeError('TypeError', 'run must be a synchronous function, got one that returns a promise', {
    hint: 'Await what the function needs before you call withStream().',
  })
}

/** @throws {ArgumentError} if it is none of the forms of a stream. */
function addressOfStream(stream: unknown): bigint {
  if (stream === null) return 0n
  if (stream instanceof OpaquePointer) return stream.address
  const address = typeof stream === 'object' ? (stream as { readonly handle?: unknown }).handle : stream
  if (typeof address === 'bigint' && BigInt.asUintN(64, address) === address) return address
  throw wrongType('stream', 'the address of a stream, an object with a handle, or null', stream)
}

/** Returns the address of the former stream. */
function replaceStream(type: number, id: number, address: bigint): bigint {
  const stack = openStack()
  return stack.frame(0, (slot) => {
    stack.set(slot, TypeIndex.OpaquePtr, 0, 0)
    stack.i64[slot * 2 + 1] = BigInt.asIntN(64, address)
    if (stack.host.tn_packed_set_stream(stack.slotAddress(slot), type, id) !== 0) throw takeError(stack, slot)
    return pointerIn(stack, slot)
  })
}

/** All 64 bits, because a stream need not be an address. */
function pointerIn(stack: Stack, slot: number): bigint {
  return BigInt.asUintN(64, stack.i64[slot * 2 + 1]!)
}

/** Reads the parts of a device once, because they may be getters. */
function checkDevice(device: Device): { type: number; id: number } {
  const read = typeof device === 'object' && device !== null ? { type: device.type, id: device.id } : device
  if (!isDevice(read)) throw wrongType('device', 'a device, such as device("cuda:0")', device)
  return read
}
