import { addressIn, checkUsable, remotePlaceOf, textAt } from '@tenon/core/internal'
import type { MemorySegment } from '../segment/memory-segment.ts'

/**
 * Copies the text at a pointer from native code, up to its terminator, or of exactly `byteLength` bytes. Null for a null pointer.
 *
 * Nothing checks that the pointer is valid, as in C. The text of a pointer of an isolated library is copied in its process.
 *
 * @throws {NativeError} if there is no terminator within 1 MiB. @throws {ScopeClosedError} if the memory of the pointer is closed.
 * @example
 * import { textOf } from '@tenon/scope/bind'
 * import { Linker, SymbolLookup } from '@tenon/scope/linker'
 *
 * const strerror = Linker.downcall(SymbolLookup.ofProcess().get('strerror'), { result: 'pointer', parameters: ['int32'] })
 * textOf(strerror(2)) // 'No such file or directory'
 */
export function textOf(pointer: MemorySegment | null, byteLength?: number): string | null {
  if (pointer === null || pointer.address === 0n) return null
  const place = remotePlaceOf(pointer.block)
  if (place !== undefined) return byteLength === undefined ? place.text() : place.read(byteLength).toString()
  if (byteLength !== undefined) return sized(pointer, byteLength).getString(0, 'utf-8', byteLength)
  if (pointer.byteSize > 0) return pointer.getString(0)
  checkUsable(pointer.block)
  return textAt(addressIn(pointer.block, pointer.base)!)
}

const sized = (pointer: MemorySegment, byteLength: number): MemorySegment =>
  pointer.byteSize === 0 ? pointer.reinterpret(byteLength) : pointer

/** The text of a member of a struct at a pointer. Null for a null pointer. */
export function textMember<Name extends string>(
  Class: { of(pointer: MemorySegment): { readonly [Key in Name]: MemorySegment } },
  pointer: MemorySegment,
  name: Name,
): string | null {
  return pointer.address === 0n ? null : textOf(Class.of(pointer)[name])
}
