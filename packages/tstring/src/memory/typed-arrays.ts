import * as types from 'node:util/types'
import { isDetached } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'

// The engine's own accessors of typed arrays. A user can define properties with their names that answer anything, on an
// object or in a subclass, and native code would then read past the array.

const prototype = Object.getPrototypeOf(Uint8Array.prototype) as object

function accessorOf<Result>(name: string): (this: ArrayBufferView) => Result {
  return Object.getOwnPropertyDescriptor(prototype, name)!.get as (this: ArrayBufferView) => Result
}

const getLength = accessorOf<number>('length')
const getByteLength = accessorOf<number>('byteLength')
const getByteOffset = accessorOf<number>('byteOffset')
const getBuffer = accessorOf<ArrayBufferLike>('buffer')
const { set } = Uint8Array.prototype

/** The bytes of a typed array in its buffer. */
export interface Extent {
  readonly buffer: ArrayBufferLike
  readonly byteOffset: number
  readonly byteLength: number
}

/** Returns the extent of a typed array. @throws {ArgumentError} for other values, and if the buffer is detached */
export function extentOf(view: unknown, name: string, expected = 'a typed array'): Extent {
  if (!types.isTypedArray(view)) throw argumentError(name, expected, view)
  const buffer = getBuffer.call(view)
  if (!(buffer instanceof ArrayBuffer) && !(buffer instanceof SharedArrayBuffer)) {
    throw argumentError(name, `${expected} over a buffer of this context`, view)
  }
  if (isDetached(buffer)) throw argumentError(name, `${expected} whose buffer is attached`, view)
  return { buffer, byteOffset: getByteOffset.call(view), byteLength: getByteLength.call(view) }
}

/** Returns the number of bytes of an element. @throws {ArgumentError} if the value is not a Uint8Array, or is detached */
export function byteLengthOf(bytes: Uint8Array, index: number): number {
  const length = types.isUint8Array(bytes) ? getLength.call(bytes) : 0
  // Asking for the buffer moves the bytes of a small array out of the heap, so only empty arrays are asked.
  if (length === 0) checkBytes(bytes, `element ${index}`)
  return length
}

const EXPECTED = 'a string or a Uint8Array'

/** Returns the extent of bytes. @throws {ArgumentError} for other values. Proxies and objects with their prototype are refused. */
export function checkBytes(value: unknown, name: string, expected: string = EXPECTED): Extent {
  if (types.isUint8Array(value)) return extentOf(value, name, expected)
  throw argumentError(name, expected, value)
}

/** The largest typed array, in bytes, that can lie in the heap of the engine. */
const ON_HEAP = 64

/**
 * Copies bytes to `at`, of which {@link byteLengthOf} has found `length`.
 *
 * @throws {RangeError} if another thread has made them longer meanwhile.
 */
export function copyBytes(to: Uint8Array, at: number, bytes: Uint8Array, length: number): void {
  if (length <= ON_HEAP) for (let i = 0; i < length; i++) to[at + i] = bytes[i]!
  else if (getBuffer.call(bytes) instanceof ArrayBuffer) set.call(to, bytes, at)
  else set.call(to.subarray(at, at + length), bytes)
}
