import { PoolsError } from '@tenon/pools'

/** Android's `native_handle_t`: descriptors, which belong to the handle's owner, and numbers. */
export interface NativeHandle {
  readonly fds: readonly number[]
  readonly ints: readonly number[]
}

/** The size of the header, in place of a version. */
const VERSION = 12
const MAXIMUM = 1024

/**
 * Returns the words of a `native_handle_t`: 12, the number of descriptors, the number of ints, the descriptors, the ints.
 *
 * @throws {PoolsError} if there are more than 1024 of either.
 * @example
 * encodeNativeHandle({ fds: [5], ints: [7, 8] }) // Int32Array.of(12, 1, 2, 5, 7, 8)
 */
export function encodeNativeHandle({ fds, ints }: NativeHandle): Int32Array {
  if (fds.length > MAXIMUM || ints.length > MAXIMUM) throw refused(`must have at most ${MAXIMUM} descriptors and ints`)
  return Int32Array.of(VERSION, fds.length, ints.length, ...fds, ...ints)
}

/**
 * Reads the words of a `native_handle_t`. No descriptor is opened or closed.
 *
 * @throws {PoolsError} `INVALID_ARGUMENT` if the version, a count or the length is wrong.
 */
export function decodeNativeHandle(words: Int32Array): NativeHandle {
  const [version, fdCount = -1, intCount = -1] = words
  if (version !== VERSION) throw refused(`must have version ${VERSION}, got ${version}`)
  const isCount = (count: number): boolean => count >= 0 && count <= MAXIMUM
  if (!isCount(fdCount) || !isCount(intCount))
    throw refused(`must have 0 to ${MAXIMUM} descriptors and ints, got ${fdCount} and ${intCount}`)
  if (words.length !== 3 + fdCount + intCount)
    throw refused(`must have ${3 + fdCount + intCount} words, got ${words.length}`)
  return { fds: [...words.subarray(3, 3 + fdCount)], ints: [...words.subarray(3 + fdCount)] }
}

const refused = (sentence: string): PoolsError => new PoolsError('INVALID_ARGUMENT', `a native handle ${sentence}`)
