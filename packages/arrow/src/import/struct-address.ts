import type { Segment } from '@tenon/core'
import { AlignmentError } from '@tenon/core'
import { addressIn, checkAddress, hex, isPointer, readSegment, wrongType, wrongValue } from '@tenon/core/internal'
import { canBeMemory } from './native-words.ts'

/**
 * Where a struct of Arrow is: an address, a pointer or memory of the struct, or an object with an address, such as an `OpaquePointer` of packed
 * functions.
 */
export type ArrowAddress = bigint | number | Segment | { readonly address: bigint | number }

/**
 * Reads the address of a struct.
 *
 * @throws {ArgumentError} if the value is not an address, or the segment is too small. @throws {AlignmentError} if it is not a multiple of 8.
 * @throws {ScopeClosedError} if the segment is closed.
 */
export function structAddress(value: unknown, name: string, byteSize: number): number {
  const address = readAddress(value, name, byteSize)
  if (!canBeMemory(address, byteSize)) throw wrongValue(name, 'the address of a struct', hex(address))
  if (address % 8 !== 0)
    throw new AlignmentError(`${name} must be at a multiple of 8 bytes, got ${hex(address)}`, {
      hint: 'Allocate the struct with an alignment of 8 bytes.',
    })
  return address
}

function readAddress(value: unknown, name: string, byteSize: number): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(checkAddress(value, name))
  const segment = readSegment(value)
  if (segment !== undefined) {
    if (!isPointer(segment.block) && segment.byteSize < byteSize)
      throw wrongValue(name, `at least ${byteSize} bytes`, segment.byteSize)
    return Number(addressIn(segment.block, segment.base) ?? 0)
  }
  const address: unknown = (value as { readonly address?: unknown } | null | undefined)?.address
  if (typeof address === 'bigint' || typeof address === 'number') return Number(checkAddress(address, name))
  throw wrongType(name, 'the address of a struct', value, 'Pass a segment of the struct, or its address as a bigint.')
}
