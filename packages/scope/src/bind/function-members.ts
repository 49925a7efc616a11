import { checkOptions, wrongType } from '@tenon/core/internal'
import type { FunctionSignature } from '../linker/signature.ts'
import { upcallStub, type UpcallFunction } from '../linker/upcall-stub.ts'
import type { ResourceScope } from '../scope/check-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { writePointer } from './members.ts'
import type { Struct } from './struct.ts'

/** The offset and the signature of each function pointer of a struct. */
export type FunctionMembers = Readonly<Record<string, readonly [byteOffset: number, signature: FunctionSignature]>>

/**
 * Fills function pointers of a struct. Functions of TypeScript can be called by C until the scope of the memory closes.
 *
 * @throws {ArgumentError} if a name is not that of a function pointer, or the memory has no scope with close()
 */
export function assign(
  { segment }: Struct,
  functions: Readonly<Record<string, UpcallFunction | MemorySegment | null | undefined>>,
  table: FunctionMembers,
): void {
  const values = checkOptions(functions, Object.keys(table), 'functions')
  for (const [name, value] of Object.entries(values)) {
    const [byteOffset, signature] = table[name]!
    if (value === undefined) continue
    if (value !== null && typeof value !== 'function' && !(value instanceof MemorySegment))
      throw wrongType(name, 'a function, a segment or null', value)
    const pointer = typeof value === 'function' ? upcallStub(value, signature, segment.scope as ResourceScope) : value
    writePointer(segment, byteOffset, pointer)
  }
}
