import { ArgumentError } from '@tenon/core'
import { remotePlaceOf } from '@tenon/core/internal'
import { Linker } from '../linker/linker.ts'
import { SymbolLookup } from '../linker/symbol-lookup.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'

/** The most bytes of a text without a known length. */
const MAXIMUM_TEXT = 2 ** 20

let strnlen: ((pointer: MemorySegment, maximum: number) => bigint) | undefined

/**
 * Copies the text at a pointer from native code, up to its terminator, or of exactly `byteLength` bytes. Null for a null pointer.
 *
 * Nothing checks that the pointer is valid, as in C. The text of a pointer of an isolated library is copied in its process.
 *
 * @throws {ArgumentError} if there is no terminator within 1 MiB. @throws {ScopeClosedError} if the memory of the pointer is closed.
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
  strnlen ??= Linker.downcall(SymbolLookup.ofProcess().get('strnlen'), {
    result: 'uint64',
    parameters: ['pointer', 'uint64'],
  })
  const length = Number(strnlen(pointer, MAXIMUM_TEXT))
  if (length === MAXIMUM_TEXT)
    throw new ArgumentError(`the text at ${pointer} must end within 1 MiB`, {
      hint: 'Pass its length as the second argument of textOf().',
    })
  return pointer.reinterpret(length).getString(0, 'utf-8', length)
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
