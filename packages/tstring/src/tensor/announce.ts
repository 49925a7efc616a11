import { gcAllocator, type StringTensorLike } from '@tenon/core'
import {
  addStringClass,
  offers,
  type ArrowStringOptions,
  type ArrowStrings,
  type StringArgument,
  type StringMemory,
  type StringSource,
} from '@tenon/core/internal'
import { segmentsOf } from '../image/image.ts'
import { hostAbi } from '../layouts/abi.ts'
import { INT32_MAXIMUM } from '../layouts/layout.ts'
import { startOf } from '../memory/regions.ts'
import type { Text } from '../text/encode.ts'
import { partsOfViews } from './arrow-view.ts'
import { partsOfArrow, toArrow, type OfArrowOptions } from './arrow.ts'
import { partsFrom } from './from.ts'
import { offerStrings } from './offer-strings.ts'
import type { StringElements } from './string-elements.ts'
import { partsOfSegment } from './of-segment.ts'
import type { Parts } from './parts.ts'
import { readShape } from './shape.ts'

/** Announces the class of string tensors to the calls of kernels. @param partsOf returns undefined for a value that is not a tensor. */
export function announce(
  Class: { readonly prototype: StringElements },
  partsOf: (value: unknown) => Parts | undefined,
  make: (parts: Parts) => StringArgument,
): void {
  offers(Class, offerStrings)
  addStringClass({
    memoryOf: (value) => {
      const parts = partsOf(value)
      return parts === undefined ? undefined : memoryOf(parts)
    },
    make: (result, isShared) => make(partsOfResult(result, isShared)),
    ofArrow: (strings, options) => make(partsOfColumn(strings, options)),
    toArrow: (value) => {
      const parts = partsOf(value)
      if (parts === undefined) return undefined
      const { image } = parts
      // The offsets of Utf8 have 32 bits.
      const isLarge = segmentsOf(image).reduce((sum, { byteSize }) => sum + byteSize, 0) > INT32_MAXIMUM
      return toArrow(image, isLarge, {})
    },
    from: (strings) => make(partsOfSource(strings)),
  })
}

/** The parts of a tensor over a column of Arrow. */
function partsOfColumn(strings: ArrowStrings, options: ArrowStringOptions): Parts {
  const { isCopied, validity, ...rest } = options
  const shared = {
    ...rest,
    ...(validity === undefined ? {} : { validity }),
    ...(isCopied ? { storage: 'packed' as const } : {}),
  }
  if ('views' in strings) return partsOfViews(strings.views, strings.buffers, shared)
  return partsOfArrow(strings.data, strings.offsets, shared)
}

/** The memory of a tensor, for calls of kernels. @throws {ScopeClosedError} if its blocks of malloc are freed. */
function memoryOf({ image, shape, segment }: Parts): StringMemory {
  segmentsOf(image)
  const { layout, abi, data, regions, foreign } = image
  // The strings of a slice lie behind the table of the tensor from which it was cut.
  const isWhole = startOf(data) === startOf(segment) && data.byteSize >= segment.byteSize
  return {
    layout,
    shape,
    segment: isWhole ? data : segment,
    isOfHost: abi === hostAbi,
    regions: regions?.segments ?? [],
    isForeign: foreign,
  }
}

/** The parts of strings of another library. */
function partsOfSource({ texts, offsets, data, shape, length, isCopied, ...nulls }: StringSource): Parts {
  if (texts !== undefined) return partsFrom(texts as Iterable<Text>, { shape })
  const storage = isCopied ? 'packed' : 'arena'
  const options = { shape, length, storage, ...nulls } as OfArrowOptions
  return partsOfArrow(data as Uint8Array, offsets as Int32Array, options)
}

/** The parts of a result of a kernel. @param isShared whether another process can change the memory. */
function partsOfResult({ layout, shape, segment }: StringTensorLike, isShared: boolean): Parts {
  if (isShared) return partsOfSegment(segment, { layout, shape, validate: 'lenient', writable: !segment.readOnly })
  const { shape: sizes, count } = readShape(shape)
  const image = { layout, abi: hostAbi, count, table: segment, data: segment, regions: undefined, foreign: false }
  return { image, shape: sizes, segment, storage: 'packed', allocator: gcAllocator, isWritable: true }
}
