/* oxlint-disable typescript/no-unsafe-declaration-merging */
import { wrongType } from '../errors/check-arguments.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { describeMemory, offers } from '../interchange/offer.ts'
import type { tensorSymbol, TensorDescription } from '../interchange/protocol.ts'
import { newCollected } from '../memory/collected-memory.ts'
import { checkUsable, type Block } from '../memory/block.ts'
import type { Gate } from '../memory/lifetime.ts'
import { Segment } from '../memory/segment.ts'
import { cpu, type Device } from './device.ts'
import { dtypeInfo, type DType } from './dtype.ts'
import type {
  ArrayOf,
  Canonical,
  DTypeName,
  Element,
  ElementOf,
  InputOf,
  Nested,
  NestedArray,
} from './element-types.ts'
import { converted } from './convert-elements.ts'
import { bytesOfArray, viewOver, type Float16ArrayClass, type Float16Values, type ValuesOf } from './tensor-arrays.ts'
import { areEqual, bytesOf, checkWritable, copyBytes, encode, writeBytes } from './tensor-bytes.ts'
import { byteOffset, elementsIn, forEachOffset, nest, type Elements } from './tensor-elements.ts'
import { jsonOf, type JsonElement } from './tensor-json.ts'
import { notOnCpu, notSingle, wrongElements } from './tensor-refusals.ts'
import { valuesText } from './tensor-text.ts'
import { rowMajorType, type Packing, type TensorType } from './tensor-type.ts'
import {
  offsetAt,
  permuted,
  reshaped,
  sliced,
  squeezed,
  transposed,
  unsqueezed,
  withLayout,
  type SliceSpec,
} from './tensor-views.ts'

/**
 * An n-dimensional array in a segment. The segment's lifetime owns the memory, and the tensor does not. {@link tensor} makes
 * a tensor. The type parameter is the canonical name of the element type; without it, a tensor can have any.
 * `toArray()` and `copy()` copy the elements; `view()` and `slice()` are over the tensor's memory, and end with the lifetime.
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
    this.lo = this.address | 0
    this.hi = (this.address / 2 ** 32) | 0
    this.descriptor = null
  }

  static {
    inspectAsText(this)
    offers(this, (tensor) => describeMemory(tensor, tensor))
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

  /** @internal the position of the first element in the block, in bytes */
  get base(): number {
    return this.address - this.block.address
  }

  /**
   * Returns whether the elements have this type.
   *
   * @param dtype canonical name or alias of an element type.
   * @throws {ArgumentError} if there is no such type.
   * @example
   * tensor([1, 2]).is('f32') // true
   */
  is<Name extends DTypeName>(dtype: Name): this is Tensor<Canonical<Name>> {
    return this.dtype === (dtypeInfo(dtype).name as DType)
  }

  /**
   * Returns this tensor as one of a known element type, without converting elements.
   *
   * @param dtype canonical name or alias of an element type.
   * @throws {ArgumentError} if the elements have another type.
   * @example
   * const x: Tensor = tensor([1, 2])
   * x.as('f32').view()[0] // 1
   */
  as<Name extends DTypeName>(dtype: Name): Tensor<Canonical<Name>> {
    if (this.is(dtype)) return this
    throw wrongElements(this.type, dtypeInfo(dtype).name)
  }

  /**
   * Returns a TypedArray over the memory, or a copy if the memory is read-only. Types that JavaScript lacks appear as raw bits:
   * float16 and bfloat16 as Uint16Array, 8-bit floats and bools as Uint8Array, complex numbers as pairs. The array is
   * empty after the lifetime is closed, so keep the tensor and take a view when you need one.
   *
   * @throws {ArgumentError} if the tensor has strides, is packed, or is not on the CPU.
   * @throws {ScopeClosedError} if the memory is closed.
   */
  view(): ArrayOf<D>
  /** Returns a view of a float16 tensor with numbers. @param array `Float16Array`, where the runtime has it. @throws as without it */
  view<Values extends Float16Values>(array: Float16ArrayClass<Values>): Values
  view(array?: unknown): ArrayBufferView {
    this.#checkOnCpu()
    return viewOver(this.type, this.segment, array)
  }

  /**
   * Returns the elements as another type, rounded to the nearest number, ties to even, in a new row-major tensor or in `into`. What is too
   * large becomes infinity, or the largest number of a type without infinity. NaN becomes 0 in a type without NaN.
   *
   * @param dtype as the type of this tensor: `float32`, or a type of at most 16 bits other than bool.
   * @param options `into` is a tensor of the type and of this shape, which does not overlap this one.
   * @throws {ArgumentError} if a type is another one, or `into` does not fit. @throws {ReadOnlyError} @throws as {@link toArray}
   * @example
   * tensor('bf16', [3], new Float32Array([1, 2.5, 1e-3])).to('f32').toArray() // [1, 2.5, 0.00099945068359375]
   */
  to<Name extends DTypeName>(dtype: Name, options?: { into?: Tensor<Canonical<Name>> }): Tensor<Canonical<Name>> {
    this.#checkReadable()
    return converted(this.contiguous(), dtype, options, { isGenuine: Tensor.isGenuine, newTensor }) as Tensor<
      Canonical<Name>
    >
  }

  /**
   * Returns the elements in row-major order, for any strides. 64-bit integers are bigints, and complex numbers are pairs.
   *
   * @throws {ArgumentError} if the tensor is not on the CPU. @throws {ScopeClosedError} if the memory is closed.
   */
  toArray(): ElementOf<D>[] {
    const elements = this.#elements()
    const values: Element[] = []
    forEachOffset(this.type, (offset) => values.push(elements.read(offset)))
    return values as ElementOf<D>[]
  }

  /**
   * Returns the elements as nested arrays, one level for each axis. A scalar is a single value. @throws as {@link toArray}
   *
   * @example
   * tensor('f32', [2, 2], [1, 2, 3, 4]).toNested() // [[1, 2], [3, 4]]
   */
  toNested(): NestedArray<ElementOf<D>> {
    return nest(this.type, this.#elements().read) as NestedArray<ElementOf<D>>
  }

  /** Returns the only element. @throws {ArgumentError} if there is not exactly one. @throws as {@link toArray} */
  item(): ElementOf<D> {
    if (this.type.elementCount === 1) return this.#elements().read(0) as ElementOf<D>
    throw notSingle(this.type)
  }

  /**
   * Returns one element.
   *
   * @param index an index for each axis. Negative ones count from the end.
   * @throws {ArgumentError} if an axis has no index. @throws {BoundsError} if an index is outside. @throws as {@link toArray}
   * @example
   * tensor([[1, 2], [3, 4]]).at(1, -1) // 4
   */
  at(...index: readonly number[]): ElementOf<D> {
    const offset = offsetAt(this.type, index)
    return this.#elements().read(offset) as ElementOf<D>
  }

  /**
   * Overwrites all elements. Nothing is written if a value is not valid.
   *
   * @param values nested arrays of this shape, or a TypedArray with the elements in row-major order.
   * @throws {ArgumentError | ArgumentRangeError} if the shape differs, or a value cannot be an element of the type.
   * @throws {ReadOnlyError} if the memory is read-only. @throws as {@link toArray}
   * @example
   * const x = tensor('f32', [2, 2])
   * x.transpose().set([[1, 2], [3, 4]])
   * x.toArray() // [1, 3, 2, 4]
   */
  set(values: Nested<InputOf<D>> | ValuesOf<D>): void {
    // Reading the values can run code of the user, which can close the memory. It is checked after the last read.
    const bytes = ArrayBuffer.isView(values) ? bytesOfArray(values, this.type) : encode(this.type, values)
    this.#checkOnCpu()
    checkWritable(this)
    writeBytes(this, bytes)
  }

  /**
   * Returns a view with another shape and the same elements in row-major order.
   *
   * @param shape the size along each axis, of which one may be -1.
   * @throws {ArgumentError} if the number of elements differs, or strides make a copy necessary.
   */
  reshape(shape: readonly number[]): Tensor<D> {
    return this.#view(reshaped(this.type, shape))
  }

  /** Returns a view with reversed axes. @throws {ArgumentError} if packed elements would not be adjacent. */
  transpose(): Tensor<D> {
    return this.#view(transposed(this.type))
  }

  /**
   * Returns a view with the axes in another order.
   *
   * @param axes each axis once. Negative ones count from the end.
   * @throws {ArgumentError | BoundsError} if an axis is missing, or packed elements would not be adjacent.
   */
  permute(axes: readonly number[]): Tensor<D> {
    return this.#view(permuted(this.type, axes))
  }

  /**
   * Returns a view of a part of the elements.
   *
   * @param specs for each axis: an index, which drops the axis; `[start, end, step]` as in `Array.prototype.slice`; or null for the
   * whole axis, as for axes without a part. Negative indices count from the end, and a step is at least 1.
   * @throws {BoundsError} if an index is outside. @throws {ArgumentError} if a part is not valid, or packed elements would not be
   * adjacent and start at a whole byte.
   * @example
   * const x = tensor([[1, 2, 3], [4, 5, 6]])
   * x.slice(1).toArray() // [4, 5, 6]
   * x.slice(null, [0, 2]).toNested() // [[1, 2], [4, 5]]
   * x.slice(null, [null, null, 2]).toNested() // [[1, 3], [4, 6]]
   */
  slice(...specs: readonly SliceSpec[]): Tensor<D> {
    const { type, offset } = sliced(this.type, specs)
    return this.#part(type, offset)
  }

  /**
   * Returns a view without an axis of one element, or without all of them.
   *
   * @throws {ArgumentError | BoundsError} if the axis does not exist, or has another size.
   */
  squeeze(axis?: number): Tensor<D> {
    return this.#view(squeezed(this.type, axis))
  }

  /** Returns a view with a new axis of one element. @throws {ArgumentError | BoundsError} if the axis is outside. */
  unsqueeze(axis: number): Tensor<D> {
    return this.#view(unsqueezed(this.type, axis))
  }

  /**
   * Returns this tensor if it is row-major, and a row-major copy otherwise.
   *
   * @throws {ArgumentError} if the tensor is not on the CPU. @throws {AllocationError} if memory is exhausted.
   */
  contiguous(): Tensor<D> {
    return this.type.strides === undefined ? this : this.copy()
  }

  /** Returns a row-major copy, whose memory the garbage collector frees. @throws as {@link contiguous} */
  copy(): Tensor<D> {
    return this.#copyAs(rowMajorType(this.type))
  }

  /**
   * Returns this tensor if its elements are in this order in memory, and a copy in that order otherwise. Indices mean the same.
   *
   * @param order the axes from major to minor, or `cm` to exchange the last two (column-major).
   * @throws {ArgumentError | BoundsError} if an axis is missing. @throws as {@link contiguous}
   */
  toLayout(order: 'cm' | readonly number[]): Tensor<D> {
    const type = withLayout(this.type, order)
    return type === this.type ? this : this.#copyAs(type)
  }

  /**
   * Returns whether the other tensor has the same element type, shape and element bits: NaN equals the same NaN, and 0 is not -0.
   * Strides and packing do not count.
   *
   * @throws {ArgumentError} if the other value is not a tensor, or one of them is not on the CPU. @throws as {@link toArray}
   */
  equals(other: Tensor<D>): boolean {
    if (!(#checkOnCpu in Object(other))) throw wrongType('the other value', 'a tensor', other)
    return areEqual(this, other, (x) => x.#bytes())
  }

  /** The bytes of the elements in row-major order, in memory of this tensor or a copy. */
  #bytes(): Uint8Array {
    this.#checkReadable()
    return bytesOf(this.contiguous())
  }

  /** Views along the first axis. A scalar has no iterator, so code that looks for one does not take it for a list. */
  get [Symbol.iterator](): () => IterableIterator<Tensor<D>> {
    return (this.shape.length === 0 ? undefined : () => this.#along()) as () => IterableIterator<Tensor<D>>
  }

  *#along(): Generator<Tensor<D>> {
    for (let i = 0; i < this.shape[0]!; i++) yield this.slice(i)
  }

  /** The type and the elements as text, shortened, or the reason why they cannot be read. Never throws. */
  toString(): string {
    const head = `Tensor ${this.type} `
    return head + valuesText(this.type, () => this.#elements(), undefined, head.length)
  }

  /** All elements as nested arrays, for `JSON.stringify`. {@link JsonElement} describes each element. @throws as {@link toArray} */
  toJSON(): NestedArray<JsonElement> {
    return jsonOf(this.type, this.#elements())
  }

  /** A view of the whole memory. */
  #view(type: TensorType<D>): Tensor<D> {
    return new Tensor(this.segment, type, this.device)
  }

  /** A view of the memory from an element on. */
  #part(type: TensorType<D>, offset: number): Tensor<D> {
    const { block, base, flags, device } = this
    const start = base + byteOffset(type, offset)
    return new Tensor(new Segment(block, start, type.byteSize, flags), type, device)
  }

  #copyAs(type: TensorType<D>): Tensor<D> {
    this.#checkReadable()
    const copy = newTensor(type) as Tensor<D>
    copyBytes(this, copy)
    return copy
  }

  /** The elements in memory that may be read now. */
  #elements(): Elements {
    this.#checkReadable()
    return elementsIn(this.type, this.block.view, this.base)
  }

  #checkReadable(): void {
    this.#checkOnCpu()
    checkUsable(this.block)
  }

  #checkOnCpu(): void {
    if (this.device.type !== cpu.type) throw notOnCpu(this.device)
  }
}

export interface Tensor<out D extends DType = DType> {
  /** Offers the memory to other libraries. @throws {ScopeClosedError} if it is closed. */
  readonly [tensorSymbol]: () => TensorDescription<D>
}

/** A tensor of zeros in new memory of the garbage collector. @throws {AllocationError} */
export const newTensor = (type: TensorType): Tensor => new Tensor(newCollected(type.byteSize), type, cpu)
