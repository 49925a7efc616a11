import { AlignmentError, ArgumentError } from '../errors/kinds.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { highWord, lowWord } from '../memory/address-words.ts'
import { checkUsable, type Block } from '../memory/block.ts'
import type { Gate } from '../memory/lifetime.ts'
import type { Segment } from '../memory/segment.ts'
import { cpu, type Device } from './device.ts'
import { typedArrayClass, type DType } from './dtype.ts'
import type { ArrayOf, Element, ElementOf } from './element-types.ts'
import { elementsIn, forEachOffset, type Elements } from './tensor-elements.ts'
import type { Packing, TensorType } from './tensor-type.ts'
import { valuesText } from './tensor-text.ts'

/**
 * An n-dimensional array in a segment. The segment's lifetime owns the memory, and the tensor does not. {@link tensor} makes
 * a tensor.
 */
export class Tensor<out D extends DType = DType> {
  /** The memory, which starts at the first element. */
  readonly segment: Segment
  readonly type: TensorType<D>
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
  constructor(segment: Segment, type: TensorType<D>, device: Device) {
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

  get dtype(): D {
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

  /** Whether the elements are row-major and adjacent. */
  get isContiguous(): boolean {
    return this.type.strides === undefined
  }

  /** @internal the offset of the first element from the start of the block, in bytes */
  get base(): number {
    return this.address - this.block.address
  }

  /**
   * Returns a TypedArray over the memory, or a copy if the memory is read-only. Types that JavaScript lacks appear as raw bits:
   * float16 and bfloat16 as Uint16Array, 8-bit floats and bools as Uint8Array, complex numbers as pairs. The array is
   * empty after the lifetime is closed, so keep the tensor and take a view when you need one.
   *
   * @throws {ArgumentError} if the tensor has strides, is packed, or is not on the CPU.
   * @throws {ScopeClosedError} if the memory is closed.
   */
  view(): ArrayOf<D> {
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
    ) as ArrayOf<D>
  }

  /** Returns the elements in row-major order, for any strides. 64-bit integers are bigints. @throws as {@link view} */
  toArray(): ElementOf<D>[] {
    const elements = this.#elements()
    const values: Element[] = []
    forEachOffset(this.type, (offset) => values.push(elements.read(offset)))
    return values as ElementOf<D>[]
  }

  /** The type and the first values as text, or the reason why they cannot be read. Never throws. */
  toString(): string {
    return `Tensor ${this.type} ${this.#valuesText()}`
  }

  /** The type and the first values as text, for `JSON.stringify`. {@link toArray} returns the values. Never throws. */
  toJSON(): { readonly dtype: D; readonly shape: readonly number[]; readonly values: string } {
    return { dtype: this.dtype, shape: this.shape, values: this.#valuesText() }
  }

  #valuesText(): string {
    return valuesText(this.type, (count) => this.toArray().slice(0, count))
  }

  /** The elements in memory that may be read now. */
  #elements(): Elements {
    this.#checkOnCpu()
    checkUsable(this.block)
    return elementsIn(this.type, this.block.view, this.base)
  }

  #checkOnCpu(): void {
    if (this.device.type !== cpu.type) {
      throw new ArgumentError(`a tensor must be on the CPU to be read, got one on device type ${this.device.type}`)
    }
  }
}
