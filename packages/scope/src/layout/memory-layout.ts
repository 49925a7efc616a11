import { AlignmentError, ArgumentError, type NativeAllocator } from '@tenon/core'
import { checkAlignment, checkName, checkSize, inspectAsText, wrongType } from '@tenon/core/internal'
import type { AlignedAccess } from '../generated/aligned-access.ts'

/**
 * The description of a value in memory. Layouts are immutable, so the `with...` methods return a new layout. A `Layout<Value, number>` has a
 * known size, so memory for it can be allocated.
 */
export abstract class Layout<Value = unknown, Size extends number | undefined = number | undefined> {
  /** The size in bytes, or undefined for a layout that ends with an open sequence. */
  readonly byteSize: Size
  readonly byteAlignment: number
  readonly name: string | undefined

  /** @internal */
  constructor(byteSize: Size, byteAlignment: number, name: string | undefined) {
    this.byteSize = byteSize
    this.byteAlignment = byteAlignment
    this.name = name
  }

  /** @internal The same layout with this name and alignment. */
  protected abstract copy(name: string | undefined, byteAlignment: number): this

  /** The text of the layout without its name. Equal layouts have equal texts. */
  protected abstract describeShape(): string

  /** Reads the value at `byteOffset`. Groups and sequences return a slice. @throws the errors of an access */
  abstract read(segment: AlignedAccess, byteOffset: number): Value

  /** Writes a value at `byteOffset`. @throws {ArgumentError} for sequences and padding. @throws the errors of an access */
  abstract write(segment: AlignedAccess, byteOffset: number, value: Value): void

  /**
   * Allocates memory for consecutive values from an allocator, and writes the values. It is what `allocateFrom()` of allocators calls.
   *
   * @throws {ArgumentError} if a value does not fit the layout, or the layout ends with an open sequence. @throws the errors of the allocator
   */
  abstract allocateIn(allocator: NativeAllocator, values: readonly Value[]): AlignedAccess

  /** The same layout with a name. */
  withName(name: string): this {
    return this.copy(checkName(name, 'name'), this.byteAlignment)
  }

  /**
   * Returns the same layout with another alignment, in bytes. Use 1 for unaligned values and packed members.
   *
   * @throws {AlignmentError} if members or elements have a larger alignment. Give them the smaller alignment first.
   */
  withByteAlignment(byteAlignment: number): this {
    const alignment = checkAlignment(byteAlignment)
    const least = this.innerAlignment
    if (alignment >= least) return this.copy(this.name, alignment)
    throw new AlignmentError(
      `the alignment of ${this} must be at least ${least}, as that of its parts, got ${alignment}`,
      {
        hint: 'Use withByteAlignment() for the members or elements first.',
        details: { expected: least, received: alignment },
      },
    )
  }

  /** @internal The largest alignment of the members or elements, or 1. */
  protected get innerAlignment(): number {
    return 1
  }

  /** Whether both layouts have the same structure, names, byte orders and alignments. */
  equals(other: unknown): boolean {
    return other instanceof Layout && String(other) === String(this)
  }

  /** Returns a text such as `point{x@0=:float64<%8}8%8`. Equal layouts have equal texts, so the text can be a key. */
  toString(): string {
    return `${quote(this.name)}${this.describeShape()}%${this.byteAlignment}`
  }

  static {
    inspectAsText(Layout)
  }
}

/** A name in the text of a layout. Names with other characters are quoted, so that different layouts have different texts. */
export function quote(name: string | undefined): string {
  if (name === undefined) return ''
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : JSON.stringify(name)
}

/** @throws {ArgumentError} if the value is not a layout. */
export function checkLayout<Any extends Layout>(value: Any, name: string = 'layout', hint?: string): Any {
  if (value instanceof Layout) return value
  throw wrongType(name, 'a layout', value, hint)
}

/** The size of a layout in bytes. @throws {ArgumentError} if it ends with an open sequence. */
export function sizeOf(layout: Layout): number {
  if (layout.byteSize !== undefined) return layout.byteSize
  throw new ArgumentError(`the layout ${layout} must have a size, but it ends with an open sequence`, {
    hint: 'Bind the sequence with withElementCount().',
  })
}

/** Reads the arguments of an allocation: a size and an alignment, or a layout, which has both. @throws {ArgumentError} */
export function checkRequest(request: unknown, byteAlignment: unknown): [byteSize: number, byteAlignment: number] {
  if (request instanceof Layout) return [sizeOf(request), request.byteAlignment]
  return [checkSize(request, 'byteSize'), checkAlignment(byteAlignment)]
}
