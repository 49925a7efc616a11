import { isProxy } from 'node:util/types'
import { wrongType } from '../errors/check-arguments.ts'
import { AlignmentError, ArgumentError } from '../errors/kinds.ts'
import { gcAllocator } from '../memory/allocators.ts'
import { readSegment } from '../memory/read-segment.ts'
import { DEVICE_MEMORY, READ_ONLY, Segment } from '../memory/segment.ts'
import { isStringTensor, type StringTensorLike } from '../strings/string-tensor-like.ts'
import { cpu } from '../types/device.ts'
import { dtypeInfo, typedArrayClass } from '../types/dtype.ts'
import { typeOf, type Packing, type TensorTypeOptions } from '../types/tensor-type.ts'
import { Tensor } from '../types/tensor.ts'
import { isPolars, readPolars } from './adapters/polars.ts'
import { copyOfBits, copyOfNumbers, fillNulls, joined, validityOf, type IsValid } from './copy-found.ts'
import { findTensor } from './find.ts'
import type { AdoptOptions, Found, FoundNumbers } from './found.ts'
import { elementsOf, layoutOf } from './found-layout.ts'
import { keepTensor, knownTensor } from './known-tensors.ts'
import { memoryOf } from './found-memory.ts'
import { tensorSymbol } from './protocol.ts'
import { stringsOf } from './found-strings.ts'

const NO_OPTIONS: AdoptOptions = {}

const COPY = 'Join or reorder the elements in a copy: from(x, { copy: true }).'

/**
 * Returns a tensor over the memory of an object of another library, or undefined if its structure is not known.
 *
 * @param place for messages.
 * @throws {ArgumentError | BoundsError | AlignmentError | UnsupportedError} if the memory cannot be used as it is
 * @throws what reading the object throws
 */
export function adopt(
  value: unknown,
  place: string,
  options: AdoptOptions = NO_OPTIONS,
): Tensor | StringTensorLike | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (isProxy(value)) return adoptProxy(value, place, options)
  if (tensorSymbol in value) {
    if (value instanceof Segment) return bytesOf(value)
    // The own tensors get here as objects that only have their prototype.
    if (value instanceof Tensor || isStringTensor(value)) return undefined
  }
  const found = findTensor(value)
  return found === undefined ? undefined : tensorOf(found, place, options)
}

/**
 * Every series of nodejs-polars is a Proxy. Other Proxies are refused, because a tensor of Tenon behind one fails in the middle of a call.
 */
function adoptProxy(value: object, place: string, options: AdoptOptions): Tensor | StringTensorLike | undefined {
  try {
    if (!isPolars(value)) return undefined
  } catch {
    // The Proxy is revoked, or its handler throws.
    return undefined
  }
  return tensorOf(readPolars(value), place, options)
}

/**
 * Returns a tensor as it is, or a tensor over the memory of an object of another library.
 *
 * @throws {ArgumentError} for other values. @throws as {@link adopt}
 */
export function asTensor(value: unknown, place: string, expected: string = 'a tensor', hint?: string): Tensor {
  if (isGenuine(value)) return value
  const tensor = adopt(value, place)
  if (tensor instanceof Tensor) return tensor
  throw wrongType(place, expected, value, hint)
}

/** Whether a value is a tensor of this package, and not a Proxy of one. */
export const isGenuine = (value: unknown): value is Tensor =>
  typeof value === 'object' && value !== null && Tensor.isGenuine(value)

/** Returns the bytes of a segment. @throws {ScopeClosedError} if the memory is closed */
function bytesOf(value: Segment): Tensor | undefined {
  const segment = readSegment(value)
  if (segment === undefined || (segment.flags & DEVICE_MEMORY) !== 0) return undefined
  return new Tensor(segment, typeOf(dtypeInfo('uint8'), [segment.byteSize], ROW_MAJOR), cpu)
}

function tensorOf(found: Found, place: string, options: AdoptOptions): Tensor | StringTensorLike {
  if ('chunks' in found) {
    const { kind, chunks } = found
    if (options.copy === true)
      return joined(
        chunks.map((one) => tensorOf(one, place, options)),
        place,
      )
    throw new ArgumentError(`${place} must be in one piece, got ${kind} of ${chunks.length} chunks`, { hint: COPY })
  }
  return 'texts' in found ? stringsOf(found, place, options) : numbersOf(found, place, options)
}

function numbersOf(found: FoundNumbers, place: string, options: AdoptOptions): Tensor {
  const known = options === NO_OPTIONS ? knownTensor(found) : undefined
  return known ?? newNumbers(found, place, options)
}

function newNumbers(found: FoundNumbers, place: string, options: AdoptOptions): Tensor {
  const { kind, more } = found
  const isCopied = options.copy === true
  const memory = memoryOf(found, place, options)
  const isOfBits = found.dtype === 'bits'
  if (isOfBits && !isCopied) {
    throw new ArgumentError(`${place} must have a byte for each boolean, got ${kind} with a bit for each`, {
      hint: 'Copy the booleans: from(x, { copy: true }).',
    })
  }
  if (isOfBits) {
    const copy = copyOfBits(found, memory, place)
    return fillNulls(copy, nullsIn(found, copy.type.elementCount, place, options), options.nulls)
  }
  const info = elementsOf(found, memory, place)
  const layout = layoutOf(found, info, memory, place)
  const { shape, strides, packing, lowest, start, count } = layout
  const isValid = more === undefined ? undefined : nullsIn(found, count, place, options)
  if (isCopied || isValid !== undefined) return fillNulls(copyOfNumbers(memory, layout, info), isValid, options.nulls)
  if (lowest < 0) {
    throw new ArgumentError(`${place} must have no negative strides, got [${strides!.join(', ')}]`, { hint: COPY })
  }
  const type = typeOf(info, shape, optionsOf(strides, packing))
  if (type.elementCount === 0) return new Tensor(gcAllocator.allocate(0), type, cpu)
  const { block } = memory
  const alignment = typedArrayClass(info.name).BYTES_PER_ELEMENT
  if ((block.address + start) % alignment !== 0) {
    throw new AlignmentError(`${place} must start at a multiple of ${alignment} bytes, got byte ${start}`, {
      hint: COPY,
    })
  }
  const flags = more?.readOnly === true ? READ_ONLY : 0
  const tensor = new Tensor(new Segment(block, start, type.byteSize, flags), type, cpu)
  keepTensor(found, strides, tensor)
  return tensor
}

const ROW_MAJOR = {}

function optionsOf(strides: readonly number[] | undefined, packing: Packing | undefined): TensorTypeOptions {
  if (strides === undefined) return packing === undefined ? ROW_MAJOR : { packing }
  return packing === undefined ? { strides } : { strides, packing }
}

const nullsIn = (
  { more, kind }: FoundNumbers,
  count: number,
  place: string,
  { nulls }: AdoptOptions,
): IsValid | undefined => validityOf(more ?? {}, count, { kind, place, nulls, call: 'from(x, { nulls: 0 })' })
