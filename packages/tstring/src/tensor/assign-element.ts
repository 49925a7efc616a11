import { Segment } from '@tenon/core'
import { tstringAssign, tstringAssignView, tstringCopy } from '../element/tstring.ts'
import type { Image } from '../image/image.ts'
import type { StructReader } from '../image/struct-reader.ts'
import { TYPE } from '../layouts/layout.ts'
import { startOf } from '../memory/regions.ts'

/**
 * Assigns a string of another tensor to a struct of `malloc` storage. A view stays a view.
 *
 * @param source the reader of the other tensor, which has located the string. @param sourceStruct the struct of the string.
 */
export function assignElement(
  struct: Segment,
  image: Image,
  source: StructReader,
  index: number,
  sourceStruct: Segment,
): void {
  if (source.image.foreign) {
    tstringAssign(struct, sourceStruct)
    adoptRegions(image, source.image)
    return
  }
  // The struct may be from outside, so C receives the bytes that the reader found, never the struct.
  const { block, start, size } = source
  if (source.typeOf(index) === TYPE.SMALL) {
    tstringCopy(struct, source.view())
    return
  }
  const bytes = size === 0 ? source.image.table.asSlice(0, 0) : new Segment(block, start, size, 0)
  tstringAssignView(struct, bytes)
  // Adds the whole memory around the string, so strings that lie together need one entry.
  if (size > 0) image.regions?.add(source.image.regions?.find(startOf(bytes), size) ?? source.image.data)
}

/** Adds the memory of one tensor to that of another one, whose strings may refer to it. */
export function adoptRegions(image: Image, source: Image): void {
  for (const segment of source.regions?.segments ?? []) image.regions?.add(segment)
}
