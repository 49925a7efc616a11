import { isProxy } from 'node:util/types'
import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { describe } from '../errors/describe.ts'
import { isRevoked } from '../errors/is-revoked.ts'
import { AlignmentError, ArgumentError, BoundsError } from '../errors/kinds.ts'
import { gcAllocator } from '../memory/allocators.ts'
import { TENSOR_ALIGNMENT } from '../memory/collected-memory.ts'
import type { NativeAllocator } from '../memory/native-allocator.ts'
import { checkUsable } from '../memory/block.ts'
import { DEVICE_MEMORY, Segment } from '../memory/segment.ts'
import { checkDevice, cpu, type Device } from './device.ts'
import { dtypeInfo, typedArrayClass, type DType } from './dtype.ts'
import type { Canonical, DTypeName, InputOf, Nested } from './element-types.ts'
import { bytesOfArray, type ValuesOf } from './tensor-arrays.ts'
import { writeElements } from './tensor-elements.ts'
import { dtypeOfElements, flatten, pathOf, readItems, unravel } from './tensor-literals.ts'
import { bytesOf } from './tensor-bytes.ts'
import { newTensor, Tensor } from './tensor.ts'
import { isSize, typeOf, typeWith, type TensorType, type TensorTypeOptions } from './tensor-type.ts'

const OPTIONS = ['allocator', 'device', 'packing', 'strides'] as const

/** The options of {@link tensor}. */
export interface TensorOptions extends TensorTypeOptions {
  /** The allocator of the memory if no segment is given. The garbage collector frees the default allocator's memory. */
  readonly allocator?: NativeAllocator
  /** The device to which the segment's memory belongs. The default is the CPU. */
  readonly device?: Device
}

/** The memory or the values of a new tensor: a segment, or a TypedArray or an array with the elements in row-major order. */
export type TensorSource<D extends DType> = Segment | ValuesOf<D> | readonly InputOf<D>[]

/**
 * Makes a tensor over a segment without copying, or over new memory that is zeroed or filled with values.
 *
 * The second argument is the shape if there is a third one, or if it is an array of numbers. Otherwise it contains the values
 * as nested arrays. A flat array of numbers therefore needs its shape, or no element type: `tensor('f32', [2], [2, 3])` and
 * `tensor([2, 3])` have two elements, and `tensor('f32', [2, 3])` has six zeros.
 *
 * @param dtype canonical name or alias of the element type. Without it, numbers make a float32 tensor, bigints an int64 tensor,
 * and booleans a bool tensor.
 * @param shape the size along each axis; empty for a scalar.
 * @param source a segment to use as memory; or values to copy in row-major order: a TypedArray of the element type's kind
 * (for float16 also a Float16Array), or an array.
 * @throws {ArgumentError | ArgumentRangeError} if a part is not valid, or nested arrays have different lengths.
 * @throws {BoundsError} if the segment is too small. @throws {AllocationError} if memory is exhausted.
 * @throws {AlignmentError} if the segment is not aligned for the elements.
 * @example
 * const x = tensor('float32', [2, 2], [1, 2, 3, 4])
 * x.toArray() // [1, 2, 3, 4]
 * tensor([[1, 2], [3, 4]]).toArray() // [1, 2, 3, 4]
 * tensor('int64', [[1, 2]]).toArray() // [1n, 2n]
 */
export function tensor<Name extends DTypeName | (string & {})>(
  dtype: Name,
  shape: readonly number[],
  source?: TensorSource<Canonical<Name>>,
  options?: TensorOptions,
): Tensor<Canonical<Name>>
export function tensor<Name extends DTypeName | (string & {})>(
  dtype: Name,
  values: Nested<InputOf<Canonical<Name>>>,
  source?: undefined,
  options?: TensorOptions,
): Tensor<Canonical<Name>>
export function tensor(values: Nested<number>): Tensor<'float32'>
export function tensor(values: Nested<bigint>): Tensor<'int64'>
export function tensor(values: Nested<boolean>): Tensor<'bool'>
export function tensor(first: unknown, second?: unknown, source?: unknown, options?: TensorOptions): Tensor {
  const given = checkOptions(options, OPTIONS)
  if (typeof first !== 'string' && second === undefined && source === undefined) {
    checkLiteral(first)
    const values = flatten(first, false)
    return filled(typeWith(dtypeOfElements(values), values.shape, given), values.elements, given, values.shape)
  }
  const info = dtypeInfo(first as string)
  if (source !== undefined || second === undefined) {
    const type = typeWith(info.name, second as readonly number[], given)
    if (source instanceof Segment) return new Tensor(checkFit(source, type), type, deviceOf(source, given.device))
    return source === undefined ? allocate(type, given.allocator, given.device) : filled(type, source, given)
  }
  // The second argument is read once: as a shape, or as the outermost array of a literal.
  const outer = Array.isArray(second) ? readItems(second) : second
  if (isShape(outer)) return allocate(typeOf(info, outer, given), given.allocator, given.device)
  checkLiteral(outer)
  const values = flatten(outer, info.kind === 'complex')
  return filled(typeWith(info.name, values.shape, given), values.elements, given, values.shape)
}

/** Whether the second argument is a shape. @throws {ArgumentRangeError} if it is an array with a number that cannot be a size. */
function isShape(second: unknown): second is readonly number[] {
  if (!Array.isArray(second)) return false
  for (let i = 0; i < second.length; i++) if (typeof second[i] !== 'number') return false
  for (let i = 0; i < second.length; i++) {
    if (!isSize(second[i])) {
      throw wrongValue(
        `shape[${i}]`,
        'a whole number of elements from 0 to 2^53 - 1',
        second[i],
        `Pass a flat array of values behind its shape: tensor(dtype, [${second.length}], values).`,
      )
    }
    second[i] += 0 // no negative zero
  }
  return true
}

function checkLiteral(value: unknown): void {
  if (ArrayBuffer.isView(value)) {
    throw wrongType(
      'values',
      'a number or nested arrays of numbers',
      value,
      'Call from(array), or tensor(dtype, shape, array) to copy.',
    )
  }
  if (!['number', 'bigint', 'boolean'].includes(typeof value) && !Array.isArray(value)) {
    throw wrongType('values', 'a number, a bigint, a boolean, or nested arrays of them', value)
  }
}

function allocate(type: TensorType, allocator: NativeAllocator = gcAllocator, device?: Device): Tensor {
  if (device !== undefined) throw new ArgumentError('device must come with a segment of its memory, got no segment')
  if (allocator === gcAllocator) return newTensor(type)
  const segment: unknown = checkAllocator(allocator).allocate(type.byteSize, TENSOR_ALIGNMENT)
  if (!(segment instanceof Segment)) throw wrongSegment(segment)
  return new Tensor(checkFit(segment, type), type, cpu)
}

function wrongSegment(value: unknown): ArgumentError {
  const received = describe(value)
  return new ArgumentError(`allocator must allocate a segment, got ${received}`, {
    hint: received.endsWith('Segment')
      ? 'Install one copy of @tenon/core, of which the program has two: npm ls @tenon/core.'
      : undefined,
  })
}

/** @param nesting the shape of the arrays in which the values were nested; by default they were in one. */
function filled(
  type: TensorType,
  values: unknown,
  options: Partial<TensorOptions>,
  nesting: readonly number[] = [type.elementCount],
): Tensor {
  if (type.strides !== undefined) throw new ArgumentError('a tensor with values must be row-major, got strides')
  const { allocator = gcAllocator, device } = options
  if (ArrayBuffer.isView(values)) return withBytes(type, bytesOfArray(values, type), allocator, device)
  // Reading the values can run code of the user, which can close the memory of an allocator, but cannot reach this memory.
  const made = allocate(type, gcAllocator, device)
  if (!Array.isArray(values) || values.length !== type.elementCount) {
    throw wrongType(`the values of ${type}`, `an array of length ${type.elementCount}`, values)
  }
  writeElements(type, made.block.view, made.base, values, (i) => pathOf(unravel(i, nesting)))
  return allocator === gcAllocator ? made : withBytes(type, bytesOf(made), allocator)
}

function withBytes(type: TensorType, bytes: Uint8Array, allocator: NativeAllocator, device?: Device): Tensor {
  const made = allocate(type, allocator, device)
  checkUsable(made.block)
  made.block.bytes.set(bytes, made.base)
  return made
}

/** Host memory may be declared to be on any device; device memory cannot be declared to be on the CPU. */
function deviceOf(segment: Segment, device: Device | undefined): Device {
  const checked = device === undefined ? cpu : checkDevice(device)
  if ((segment.flags & DEVICE_MEMORY) === 0 || checked.type !== cpu.type) return checked
  throw new ArgumentError('a tensor in device memory cannot be on the CPU', {
    hint: 'Make it with memory.tensor(dtype, shape).',
  })
}

function checkAllocator(allocator: unknown): NativeAllocator {
  if (!isRevoked(allocator) && typeof (allocator as Partial<NativeAllocator> | null)?.allocate === 'function')
    return allocator as NativeAllocator
  throw new ArgumentError(`allocator must have allocate(byteSize, byteAlignment), got ${describe(allocator)}`, {
    hint: 'Use NativeScope.ofConfined(), which frees its memory when it is closed.',
  })
}

/** @throws {BoundsError | AlignmentError} if elements of the type do not fit in the segment. */
export function checkFit(segment: Segment, type: TensorType): Segment {
  if (isProxy(segment)) {
    throw new ArgumentError(`the segment of ${type} must be a segment, got a Proxy`, {
      hint: 'Pass the segment itself, for example toRaw(segment) for a reactive object of Vue.',
    })
  }
  if (segment.byteSize < type.byteSize) {
    throw new BoundsError(`${type} must have ${type.byteSize} bytes, the segment has ${segment.byteSize}`, {
      details: { byteSize: segment.byteSize, needed: type.byteSize },
    })
  }
  const alignment = typedArrayClass(type.dtype).BYTES_PER_ELEMENT
  // It is at most 8. A remainder of the address would be a division of doubles, which takes 15 ns.
  if (((segment.block.skew + segment.base) & (alignment - 1)) !== 0) {
    throw new AlignmentError(`elements of ${type.dtype} must start at a multiple of ${alignment} bytes`)
  }
  return segment
}
