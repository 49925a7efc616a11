import { gcAllocator, type NativeAllocator } from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { FORM } from '../kernels/plan.ts'
import { hostAbi } from '../layouts/abi.ts'
import { structSize, type Layout } from '../layouts/layout.ts'
import { allocateFrom } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { policyOf, type InvalidText } from '../text/decode.ts'
import type { Text } from '../text/encode.ts'
import { readAsciiTexts, type Texts } from '../text/read-texts.ts'
import { convertTo, layoutOptions, placementOf, TABLE_ALIGNMENT, type LayoutOptions } from './convert-to.ts'
import { encodeArena } from './encode-arena.ts'
import { isFew, partsOfFew, readFew } from './encode-few.ts'
import { encodeTexts } from './encode-packed.ts'
import { encodeTflite } from './encode-tflite.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'

/** Options of `StringTensor.from`. */
export interface FromOptions extends LayoutOptions {
  /** The layout; by default `tf`. */
  readonly layout?: Layout
  /** The size along each axis, `[]` for a scalar; by default one axis. */
  readonly shape?: readonly number[]
  /**
   * The policy for lone surrogates, which UTF-8 cannot encode: `replace` (U+FFFD, the default) or `throw`. `latin1` writes
   * each character as one byte instead of UTF-8. Bytes (Uint8Array) are always written unchanged.
   */
  readonly invalid?: InvalidText
}

const nothing: Texts = { values: [], length: 0 }

export function partsFrom(strings: Iterable<Text>, options: FromOptions | undefined): Parts {
  const values = arrayOf(strings)
  const checked = options === undefined ? NO_OPTIONS : checkOptions(options, KNOWN)
  const { layout = 'tf', allocator = gcAllocator } = checked
  const policy = policyOf(checked.invalid)
  // A getter among the elements can change the length later.
  const count = countOf(values)
  const shape = checkShape(checked.shape, count)
  const placement = options === undefined ? PLAIN : placementOf(layout, checked)
  if (layout !== 'tf' || placement.form !== FORM.POINTER || !placement.isInline) {
    const isDirect = layout === 'tflite' && policy === 'replace'
    const { values: known, length } = isDirect ? readAsciiTexts(values, count) : nothing
    const isAscii = isDirect && known.length === count
    const direct = isAscii ? encodeTflite(known, length, shape, placement.abi, allocator) : undefined
    return direct ?? convertTo(encodeTexts(values, count, policy, known), undefined, shape, placement, allocator)
  }
  if (allocator === gcAllocator && policy === 'replace' && isFew(count)) {
    const texts = readFew(values, count)
    return partsOfFew(texts, shape) ?? partsInArena(texts, count, shape, policy, allocator)
  }
  return partsInArena(values, count, shape, policy, allocator)
}

const NO_OPTIONS: FromOptions = {}
const KNOWN = [...layoutOptions, 'layout', 'shape', 'invalid'] as const
const PLAIN = placementOf('tf', NO_OPTIONS)

function partsInArena(
  values: readonly Text[],
  count: number,
  shape: readonly number[],
  policy: InvalidText,
  allocator: NativeAllocator,
): Parts {
  const table = allocateFrom(allocator, structSize('tf') * count, TABLE_ALIGNMENT)
  const regions = new Regions()
  const image = { layout: 'tf', abi: hostAbi, count, table, data: table, regions, foreign: false } as const
  const parts = arenaParts(image, shape, allocator)
  const sums = encodeArena(values, count, table, parts.arena!, policy)
  return { ...parts, image: { ...image, sums } }
}

/** Returns the elements as an array. An array is not copied. A string is refused, because its characters are rarely meant. */
function arrayOf(strings: unknown): readonly Text[] {
  if (Array.isArray(strings)) return strings as Text[]
  if (typeof strings === 'object' && typeof (strings as Iterable<Text> | null)?.[Symbol.iterator] === 'function') {
    return [...(strings as Iterable<Text>)]
  }
  throw argumentError('strings', 'an array or another iterable object', strings)
}

function countOf({ length }: readonly Text[]): number {
  if (Number.isInteger(length) && length >= 0 && length <= COUNT_MAXIMUM) return length
  throw argumentError('the length of strings', 'a whole number below 2^32', length)
}
