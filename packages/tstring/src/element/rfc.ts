import { ArgumentError, BoundsError, Segment } from '@tenon/core'
import { coreFunctions, describe } from '@tenon/core/internal'
import { layoutCodes } from '../layouts/codes.ts'
import { structSize } from '../layouts/layout.ts'
import { checkWritable, segmentOver, withOpen } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { callElement } from './call.ts'

/** One of the RFC's two structs: without and with a capacity. */
export type RfcLayout = 'rfc16' | 'rfc24'

// One string of the RFC. `string` is a segment of 16 or 24 bytes that holds a container: zeroed memory is an empty SMALL,
// `encodeStruct` makes an OFFSET or PREALLOC. Errors as those of the tstring functions.

/**
 * Gives a string new bytes: in its container if they fit, else as LARGE, which keeps the container in front of its block
 * and goes back to it when bytes fit again.
 *
 * @throws {AllocationError} without memory; the string is unchanged.
 */
export function rfcAssign(string: Segment, layout: RfcLayout, value: Text): void {
  const { tn_tstring_rfc_assign: assign } = coreFunctions()
  const bytes = segmentOver(encodeText(value, 'replace', 'value'), 'value')
  const code = check(string, layout)
  callElement('assigning a string', [string, bytes], () =>
    assign(startOf(string), code, startOf(bytes), bytes.byteSize),
  )
}

/**
 * Moves a string to another struct; the source becomes an empty SMALL. An OFFSET is rebased, also one that a LARGE keeps.
 *
 * @throws {NativeError} if an OFFSET can't reach its bytes from there; nothing has changed.
 */
export function rfcMove(string: Segment, source: Segment, layout: RfcLayout): void {
  const { tn_tstring_rfc_move: move } = coreFunctions()
  const code = check(string, layout)
  check(source, layout)
  callElement('moving a string', [string, source], () => move(startOf(string), startOf(source), code))
}

/** Frees the block of a LARGE and puts its container back. */
export function rfcDealloc(string: Segment, layout: RfcLayout): void {
  const { tn_tstring_rfc_dealloc: dealloc } = coreFunctions()
  const code = check(string, layout)
  withOpen([string], () => dealloc(startOf(string), code))
}

/** Checks a string's memory; returns the layout's number. */
function check(string: Segment, layout: RfcLayout): number {
  if (layout !== 'rfc16' && layout !== 'rfc24') {
    throw new ArgumentError(`layout must be 'rfc16' or 'rfc24', got ${describe(layout)}`)
  }
  if (!(string instanceof Segment)) throw new ArgumentError(`a string must be a segment, got ${describe(string)}`)
  if (string.byteSize < structSize(layout)) {
    throw new BoundsError(
      `a string of ${layout} must have ${structSize(layout)} bytes, the segment has ${string.byteSize}`,
    )
  }
  checkWritable(string)
  return layoutCodes[layout]
}
