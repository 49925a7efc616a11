import { isProxy } from 'node:util/types'
import { wrongType } from '../errors/check-arguments.ts'
import { AlignmentError, ArgumentError } from '../errors/kinds.ts'
import { isRevoked } from '../errors/is-revoked.ts'
import { adopt } from '../interchange/adopt.ts'
import { gcAllocator } from '../memory/allocators.ts'
import type { NativeAllocator } from '../memory/native-allocator.ts'
import { checkEnterable } from '../memory/block.ts'
import type { Gated } from '../memory/lifetime.ts'
import { readSegment } from '../memory/read-segment.ts'
import { DEVICE_MEMORY, Segment } from '../memory/segment.ts'
import { sharedChunkOf } from '../memory/block.ts'
import { cpu } from '../types/device.ts'
import { stringType } from '../types/string-type.ts'
import { TENSOR_ALIGNMENT } from '../memory/collected-memory.ts'
import { Tensor } from '../types/tensor.ts'
import { checkAxisSize, type TensorType } from '../types/tensor-type.ts'
import { checkOperand, countOf, isPacked, measurePacked, writePacked, type NativeStrings } from './native-strings.ts'
import { STRING_LAYOUTS, stringSize, type StringLayout } from './string-layout.ts'
import { isStringTensor, knownMemory, type StringMemory } from './string-tensor-like.ts'

/** An operand that was read, and its place in messages. */
interface ReadStrings extends StringMemory {
  readonly place: string
}

/** The memory of the strings of each operand, which lives as long as the tensor of the operand. */
const memories = new WeakMap<Tensor, ReadStrings>()

/** The tensors of operands, with the bytes of OFFSET strings behind them. */
const segments = new WeakMap<Tensor, Segment>()

/** Whether a tensor is an operand of {@link readStrings} or {@link checkStrings}. */
export const isStringOperand = (tensor: Tensor): boolean => memories.has(tensor) || segments.has(tensor)

/** The memory of an operand that {@link checkStrings} returned: the tensor, with the bytes of OFFSET strings behind it. */
export const stringSegmentOf = (tensor: Tensor): Segment | undefined => segments.get(tensor)

/**
 * Reads a tensor of strings for a kernel. Each field is read once. The elements are not read before {@link checkStrings}.
 *
 * @param place for messages.
 * @returns the memory that the kernel gets. Its type is `string<tf>[3]`, and has the bytes of each string as its last axis.
 * @throws {ArgumentError} if the value is not a tensor of strings. @throws {AlignmentError} @throws {ScopeClosedError}
 */
export function readStrings(value: unknown, place: string): Tensor<'uint8'> {
  const memory = memoryOf(value, place)
  if (!memory.isOfHost) {
    throw new ArgumentError(`${place} must have the byte order and pointers of this machine`, {
      hint: `Convert the strings: words.to('${memory.layout}').`,
      details: { path: place },
    })
  }
  const { block, base, flags } = memory.segment
  const type = typeIn(memory, place)
  const tensor = new Tensor(new Segment(block, base, type.byteSize, flags), type, cpu)
  memories.set(tensor, { ...memory, place })
  return tensor
}

/** A string operand whose elements were checked, so that a kernel can read them. */
export interface CheckedStrings {
  readonly tensor: Tensor<'uint8'>
  /** Other memory to which elements refer. The call holds it like the tensor. */
  readonly regions: readonly Gated[]
}

/** The use that a call makes of an operand. */
export interface StringUse {
  /** Memory that another process maps. Strings that it cannot read where they are are copied there, without pointers. */
  readonly shared?: NativeAllocator | undefined
  /** Whether the strings are copied, because code of the user runs during the call and can change them. */
  readonly isCopied?: boolean
}

/**
 * Checks the elements of an operand that {@link readStrings} returned. Code of the user must not run between this and the call.
 *
 * @throws {ArgumentError} with the element that is damaged. @throws {ScopeClosedError} if the memory of an element is closed.
 */
export function checkStrings(operand: Tensor, { shared, isCopied = false }: StringUse = {}): CheckedStrings {
  const { layout, segment, shape, regions, isForeign, place } = memories.get(operand)!
  checkEnterable(segment.block)
  for (const { block } of regions) checkEnterable(block)
  const strings: NativeStrings = { layout, count: countOf(shape), segment, follows: isForeign }
  checkOperand(strings, regions, place)
  const isReady = shared === undefined ? !isCopied : sharedChunkOf(segment) !== undefined && isPacked(strings)
  if (isReady) {
    segments.set(operand, segment)
    return { tensor: operand as Tensor<'uint8'>, regions: othersIn(segment, regions) }
  }
  const copy = copied({ ...strings, follows: isForeign || regions.length > 0 }, shared ?? gcAllocator, place)
  const { type } = operand as Tensor<'uint8'>
  const tensor = new Tensor(new Segment(copy.block, copy.base, type.byteSize, 0), type, cpu)
  segments.set(tensor, copy)
  return { tensor, regions: NONE }
}

/** Checks the elements of an operand of a call in progress again, and copies its strings, without pointers. @throws as {@link checkStrings} */
export function copyOfOperand(operand: Tensor): Segment {
  if (memories.has(operand)) return segments.get(checkStrings(operand, { isCopied: true }).tensor)!
  // The call itself reads a copy.
  const { layout, shape } = operand.type.strings!
  const segment = segments.get(operand)!
  return copied({ layout, count: countOf(shape), segment, follows: false }, gcAllocator, 'a string tensor')
}

const NONE: readonly Gated[] = []

/** The blocks besides that of the table. Most tensors have one for all of their memory. */
function othersIn({ block }: Segment, regions: readonly Segment[]): readonly Gated[] {
  if (regions.length === 0) return NONE
  return regions.filter((region) => region.block !== block).map((region) => region.block)
}

/** Copies strings to memory of an allocator, without pointers. @throws {ArgumentError} for damaged strings */
export function copied(strings: NativeStrings, allocator: NativeAllocator, place: string): Segment {
  if (stringSize(strings.layout) === 0) return copyOf(strings.segment, allocator)
  const sizes = measurePacked(strings, place)
  const to = allocator.allocate(sizes.table + sizes.data, TENSOR_ALIGNMENT)
  writePacked(strings, sizes, to, place)
  return to
}

function copyOf({ block, base, byteSize }: Segment, allocator: NativeAllocator): Segment {
  const to = allocator.allocate(byteSize, TENSOR_ALIGNMENT)
  to.block.bytes.set(block.bytes.subarray(base, base + byteSize), to.base)
  return to
}

function memoryOf(value: unknown, place: string): StringMemory {
  if (typeof value !== 'object' || value === null) refuse(value, place)
  const known = knownMemory(value)
  if (known !== undefined) return known
  if (!isStringTensor(value)) {
    const adopted = adopt(value, place)
    return (adopted instanceof Tensor ? undefined : adopted && knownMemory(adopted)) ?? refuse(value, place)
  }
  const { layout, shape, segment } = value
  if (!STRING_LAYOUTS.includes(layout))
    throw wrongType(`layout of ${place}`, `one of ${STRING_LAYOUTS.join(', ')}`, layout)
  const sizes = readShape(shape, place)
  const own = readSegment(segment)
  if (own === undefined) throw wrongType(`segment of ${place}`, 'a Segment', segment)
  if ((own.flags & DEVICE_MEMORY) !== 0) {
    throw new ArgumentError(`${place} must be in host memory, got device memory`, {
      hint: 'Copy it to host memory first.',
      details: { path: place },
    })
  }
  return { layout, shape: sizes, segment: own, isOfHost: true, regions: [], isForeign: false }
}

/** Each size is read once. */
function readShape(shape: unknown, place: string): readonly number[] {
  if (isRevoked(shape) || !Array.isArray(shape)) throw wrongType(`shape of ${place}`, 'an array of numbers', shape)
  const sizes: number[] = []
  const { length } = shape
  for (let axis = 0; axis < length; axis++) sizes.push(checkAxisSize(shape[axis], axis))
  return sizes
}

/** The type of the operand. @throws {ArgumentError | AlignmentError} if the memory is too small for it, or at a wrong address. */
function typeIn({ layout, shape, segment }: StringMemory, place: string): TensorType<'uint8'> {
  const { byteSize, block, base } = segment
  const type = stringType(layout, shape, byteSize)
  if (byteSize < type.byteSize) {
    throw new ArgumentError(`${place} must have ${type.byteSize} bytes for ${type}, got ${byteSize}`, {
      hint: 'Pass the whole memory of the strings, and their own shape.',
      details: { path: place, expected: type.byteSize, received: byteSize },
    })
  }
  const alignment = alignmentOf(layout)
  if ((block.address + base) % alignment !== 0) {
    throw new AlignmentError(`${place} must start at a multiple of ${alignment} bytes`, {
      hint: `Copy the strings: words.to('${layout}').`,
      details: { path: place, expected: alignment },
    })
  }
  return type
}

const alignmentOf = (layout: StringLayout): number => (layout === 'tflite' ? 4 : 8)

function refuse(value: unknown, place: string): never {
  const hint = "Make it with StringTensor.from(['a', 'b']) of tenon/tstring."
  if (!isProxy(value)) throw wrongType(place, 'a string tensor', value, hint)
  throw new ArgumentError(`${place} must be a string tensor, got a Proxy`, {
    hint: 'Pass the string tensor itself, for example toRaw(words) for a reactive object of Vue.',
    details: { path: place, expected: 'a string tensor', received: 'a Proxy' },
  })
}
