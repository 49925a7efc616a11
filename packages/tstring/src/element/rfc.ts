import type { Segment } from '@tenon/core'
import { coreFunctions } from '@tenon/core/internal'
import { checkOneOf } from '../errors/arguments.ts'
import { layoutCodes } from '../layouts/codes.ts'
import { rfcLayouts, structSize, type RfcLayout } from '../layouts/layout.ts'
import { segmentOver, withOpen } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { encodeText, type Text } from '../text/encode.ts'
import { callElement, checkString } from './call.ts'

// Functions for one string of the RFC. `string` is a segment of 16 or 24 bytes that holds a container: zeroed memory is an
// empty SMALL, and `encodeStruct` makes an OFFSET or PREALLOC. The errors are those of the tstring functions.

/**
 * Gives a string new bytes, in its container if they fit. Otherwise the string becomes a LARGE, which keeps the container in
 * front of its block and restores it when bytes fit again.
 *
 * @throws {AllocationError} without memory. The string is unchanged then.
 */
export function rfcAssign(string: Segment, layout: RfcLayout, value: Text): void {
  const bytes = segmentOver(encodeText(value, 'replace', 'value'), 'value')
  const { struct, code } = check(string, layout)
  callElement('assigning a string', [struct, bytes], (core) =>
    core.tn_tstring_rfc_assign(startOf(struct), code, startOf(bytes), bytes.byteSize),
  )
}

/**
 * Moves a string to another struct. The source becomes an empty SMALL. An OFFSET is rebased, also one that a LARGE keeps.
 *
 * @throws {NativeError} if an OFFSET cannot reach its bytes from the new struct. Nothing has changed then.
 */
export function rfcMove(string: Segment, source: Segment, layout: RfcLayout): void {
  const { struct: from } = check(source, layout, 'source')
  const { struct, code } = check(string, layout)
  callElement('moving a string', [struct, from], (core) =>
    core.tn_tstring_rfc_move(startOf(struct), startOf(from), code),
  )
}

/** Frees the block of a LARGE and restores its container. */
export function rfcDealloc(string: Segment, layout: RfcLayout): void {
  const { struct, code } = check(string, layout)
  withOpen([struct], () => coreFunctions().tn_tstring_rfc_dealloc(startOf(struct), code))
}

/** Checks the memory of a string. Returns it with the number of the layout. */
function check(string: Segment, layout: RfcLayout, name = 'string'): { struct: Segment; code: number } {
  const size = structSize(checkOneOf(layout, rfcLayouts, 'layout'))
  return { struct: checkString(string, name, size), code: layoutCodes[layout] }
}
