import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { AlignmentError, ArgumentError, BoundsError } from '../errors/kinds.ts'
import { describe } from '../errors/describe.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { gcAllocator, type NativeAllocator } from '../memory/allocators.ts'
import { highWord, lowWord } from '../memory/address-words.ts'
import { checkUsable, type Block } from '../memory/block.ts'
import type { Gate } from '../memory/lifetime.ts'
import { DEVICE_MEMORY, Segment } from '../memory/segment.ts'
import { checkDevice, cpu, type Device } from './device.ts'
import { dtypeInfo, typedArrayClass, type DType, type TypedArray } from './dtype.ts'
import { elementCodec, type Element, type ElementCodec } from './element.ts'
import { typeWith, type TensorType, rowMajorStrides, type Packing, type TensorTypeOptions } from './tensor-type.ts'
import { valuesText } from './tensor-text.ts'

/** The alignment in bytes of memory that {@link tensor} allocates, as XLA and vector instructions need it. */
export const TENSOR_ALIGNMENT = 64

/**
 * An n-dimensional array in a segment. The segment's lifetime owns the memory, and the tensor does not. {@link tensor} makes
 * a tensor.
 */
export class Tensor {
  /** The memory, which starts at the first element. */
  readonly segment: Segment
  readonly type: TensorType
  readonly device: Device
  /** @internal */
  readonly gate: Gate
  /** @internal of the segment, which is read once, because it can be a Proxy whose reads run code of the user */
  readonly block: Block
  /** @internal those of the segment */
  readonly flags: number
  /** @internal the address of the first element */
  readonly address: number
  /** @internal the low 32 bits of the address, as an int32 */
  readonly lo: number
  /** @internal the high 32 bits of the address, as an int32 */
  readonly hi: number
  /** @internal a package's own record for this tensor, such as a DLTensor */
  descriptor: unknown

  /** @internal */
  constructor(segment: Segment, type: TensorType, device: Device) {
    this.segment = segment
    this.type = type
    this.device = device
    this.block = segment.block
    this.gate = this.block.gate
    this.flags = segment.flags
    this.address = this.block.address + segment.base
    this.lo = lowWord(this.address)
    this.hi = highWord(this.address)
    this.descriptor = null
  }

  static {
    inspectAsText(this)
  }

  /** @internal Whether a value is a tensor, and not a Proxy of one, whose reads run code of the user. */
  static isGenuine(value: object): value is Tensor {
    return #checkOnCpu in value
  }

  get dtype(): DType {
    return this.type.dtype
  }

  get shape(): readonly number[] {
    return this.type.shape
  }

  /** The strides in elements; undefined for row-major. */
  get strides(): readonly number[] | undefined {
    return this.type.strides
  }

  get packing(): Packing {
    return this.type.packing
  }

  /**
   * Returns a TypedArray over the memory, or a copy if the memory is read-only. Types that JavaScript lacks appear as raw bits:
   * float16 and bfloat16 as Uint16Array, 8-bit floats and bools as Uint8Array, complex numbers as pairs. The array is
   * empty after the lifetime is closed, so keep the tensor and take a view when you need one.
   *
   * @throws {ScopeClosedError} if the memory is closed. @throws {ArgumentError} if it is not on the CPU.
   */
  view(): TypedArray {
    this.#checkOnCpu()
    const view = this.segment.view()
    const array = typedArrayClass(this.dtype)
    if (view.byteOffset % array.BYTES_PER_ELEMENT !== 0) {
      throw new AlignmentError(
        `a ${array.name} must start at a multiple of ${array.BYTES_PER_ELEMENT} bytes, got ${view.byteOffset}`,
        { hint: 'Allocate the memory with the alignment of its elements, or read it with toArray().' },
      )
    }
    return new array(
      view.buffer as ArrayBuffer,
      view.byteOffset,
      Math.floor(this.type.byteSize / array.BYTES_PER_ELEMENT),
    )
  }

  /** Returns the elements in row-major order, for any strides. 64-bit integers are bigints. @throws as {@link view} */
  toArray(): Element[] {
    return this.#read(this.type.elementCount)
  }

  /** The type and the first values as text, or the reason why they cannot be read. Never throws. */
  toString(): string {
    return `Tensor ${this.type} ${this.#valuesText()}`
  }

  /** The type and the first values as text, for `JSON.stringify`. {@link toArray} returns the values. Never throws. */
  toJSON(): { readonly dtype: DType; readonly shape: readonly number[]; readonly values: string } {
    return { dtype: this.dtype, shape: this.shape, values: this.#valuesText() }
  }

  #valuesText(): string {
    return valuesText(this.type, (count) => this.#read(count))
  }

  #read(count: number): Element[] {
    this.#checkOnCpu()
    const { packing } = this.type
    const { block, base } = this.segment
    checkUsable(block)
    const { view } = block
    const codec = elementCodec(this.dtype)
    if (packing === 'packed') {
      return Array.from({ length: count }, (_, i) => readPacked(view, base, i, dtypeInfo(this.dtype).bits, codec))
    }
    const at = elementOffsets(this.type)
    return Array.from({ length: count }, (_, i) => codec.read(view, base + at(i) * codec.byteSize))
  }

  #checkOnCpu(): void {
    if (this.device.type !== cpu.type) {
      throw new ArgumentError(`a tensor must be on the CPU to be read, got one on device type ${this.device.type}`)
    }
  }
}

const OPTIONS = ['allocator', 'device', 'packing', 'strides'] as const

/** The options of {@link tensor}. */
export interface TensorOptions extends TensorTypeOptions {
  /** The allocator of the memory if no segment is given. The garbage collector frees the default allocator's memory. */
  readonly allocator?: NativeAllocator
  /** The device to which the segment's memory belongs. The default is the CPU. */
  readonly device?: Device
}

/** A `Float16Array`, described here because not all engines and declarations have it. */
export interface Float16Values extends ArrayBufferView {
  readonly length: number
  readonly [Symbol.toStringTag]: 'Float16Array'
}

/**
 * Makes a tensor over a segment without copying, or over new memory that is zeroed or filled with values.
 *
 * @param dtype canonical name or alias of the element type.
 * @param shape the size along each axis; empty for a scalar.
 * @param source a segment to use as memory; or values to copy in row-major order: a TypedArray of the element type's kind
 * (for float16 also a Float16Array), or an array.
 * @throws {ArgumentError | ArgumentRangeError} if a part is not valid. @throws {BoundsError} if the segment is too small.
 * @throws {AlignmentError} if the segment is not aligned for the elements. @throws {AllocationError} if memory is exhausted.
 * @example
 * const x = tensor('float32', [2, 2], [1, 2, 3, 4])
 * x.toArray() // [1, 2, 3, 4]
 */
export function tensor(
  dtype: string,
  shape: readonly number[],
  source?: Segment | TypedArray | Float16Values | readonly Element[],
  options?: TensorOptions,
): Tensor {
  const given = checkOptions(options, OPTIONS)
  const { allocator = gcAllocator, device } = given
  const type = typeWith(dtype, shape, given)
  if (source instanceof Segment) return new Tensor(checkFit(source, type), type, deviceOf(source, device))
  if (device !== undefined) throw new ArgumentError('device must come with a segment of its memory, got no segment')
  const segment: unknown = checkAllocator(allocator).allocate(type.byteSize, TENSOR_ALIGNMENT)
  if (!(segment instanceof Segment))
    throw new ArgumentError(`allocator must allocate a segment, got ${describe(segment)}`)
  const made = new Tensor(checkFit(segment, type), type, cpu)
  if (source !== undefined) fill(made, source)
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
  if (typeof (allocator as Partial<NativeAllocator> | null)?.allocate === 'function')
    return allocator as NativeAllocator
  throw new ArgumentError(`allocator must have allocate(byteSize, byteAlignment), got ${describe(allocator)}`, {
    hint: 'Use NativeScope.ofConfined(), which frees its memory when it is closed.',
  })
}

function checkFit(segment: Segment, type: TensorType): Segment {
  if (segment.byteSize < type.byteSize) {
    throw new BoundsError(`${type} must have ${type.byteSize} bytes, the segment has ${segment.byteSize}`, {
      details: { byteSize: segment.byteSize, needed: type.byteSize },
    })
  }
  const alignment = typedArrayClass(type.dtype).BYTES_PER_ELEMENT
  if ((segment.block.address + segment.base) % alignment !== 0) {
    throw new AlignmentError(`elements of ${type.dtype} must start at a multiple of ${alignment} bytes`)
  }
  return segment
}

function fill({ segment, type }: Tensor, source: TypedArray | Float16Values | readonly Element[]): void {
  if (type.strides !== undefined) throw new ArgumentError('a tensor with values must be row-major, got strides')
  const { block, base } = segment
  const codec = elementCodec(type.dtype)
  const { byteSize } = codec
  if (ArrayBuffer.isView(source)) {
    const expected = typedArrayClass(type.dtype)
    const isFloat16 = type.dtype === 'float16' && source[Symbol.toStringTag] === 'Float16Array'
    const length =
      type.packing === 'packed' ? type.byteSize : (type.elementCount * byteSize) / expected.BYTES_PER_ELEMENT
    if (!(source instanceof expected || isFloat16) || source.length !== length) {
      throw wrongType(`the values of ${type}`, `a ${expected.name}(${length})`, source)
    }
    block.bytes.set(new Uint8Array(source.buffer, source.byteOffset, type.byteSize), base)
    return
  }
  if (!Array.isArray(source) || source.length !== type.elementCount) {
    throw wrongType(`the values of ${type}`, `an array of length ${type.elementCount}`, source)
  }
  const values: readonly Element[] = source
  if (type.packing === 'packed') {
    const { bits } = dtypeInfo(type.dtype)
    for (let i = 0; i < type.elementCount; i++) writePacked(block.view, base, i, bits, codec, values[i])
  } else {
    for (let i = 0; i < type.elementCount; i++) codec.write(block.view, base + i * byteSize, values[i])
  }
}

/** Maps the row-major index of an element to its offset in memory, in elements. */
function elementOffsets({ shape, strides }: TensorType): (index: number) => number {
  if (strides === undefined) return (index) => index
  const rowMajor = rowMajorStrides(shape)
  return (index) =>
    strides.reduce((at, stride, axis) => at + (Math.floor(index / rowMajor[axis]!) % shape[axis]!) * stride, 0)
}

const oneByte = new DataView(new ArrayBuffer(1))

/** Packed elements fill each byte from its low bits. */
function readPacked(view: DataView, base: number, index: number, bits: number, codec: ElementCodec): Element {
  const bit = index * bits
  oneByte.setUint8(0, (view.getUint8(base + Math.floor(bit / 8)) >> (bit & 7)) & ((1 << bits) - 1))
  return codec.read(oneByte, 0)
}

function writePacked(
  view: DataView,
  base: number,
  index: number,
  bits: number,
  codec: ElementCodec,
  value: unknown,
): void {
  const bit = index * bits
  const at = base + Math.floor(bit / 8)
  codec.write(oneByte, 0, value)
  const shift = bit & 7
  // Memory of a caller's allocator may not be zeroed.
  view.setUint8(at, (view.getUint8(at) & ~(((1 << bits) - 1) << shift)) | (oneByte.getUint8(0) << shift))
}
