import type { MemorySegment } from '../segment/memory-segment.ts'

declare const pointee: unique symbol

/**
 * A segment that C code reads as a pointer to a type, named as C names it. Pointers to different types are not assignable to each other, so
 * a `sqlite3 *` is not accepted as a `sqlite3_stmt *`. A segment without a type fits all.
 *
 * @example
 * const values: Pointer<'double'> = scope.allocate(8 * 3, 8)
 */
export type Pointer<Pointee extends string> = MemorySegment & { readonly [pointee]?: Pointee }
