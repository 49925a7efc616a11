import { Block, checkUsable } from './block.ts'
import { Segment } from './segment.ts'

/**
 * Returns a segment with the fields of another one, each of which was read once, because a proxy or a subclass can answer differently
 * each time. They are checked afterwards.
 *
 * @returns undefined for a value that is not a segment, or has fields that no segment has. @throws {ScopeClosedError} if the memory is closed.
 */
export function readSegment(value: unknown): Segment | undefined {
  if (!(value instanceof Segment)) return undefined
  const { block, base, byteSize, flags } = value
  if (!(block instanceof Block)) return undefined
  checkUsable(block)
  const isInside = base >= 0 && byteSize >= 0 && base + byteSize <= block.bytes.length
  if (!isInside || !Number.isInteger(base) || !Number.isInteger(byteSize)) return undefined
  return new Segment(block, base, byteSize, flags)
}
