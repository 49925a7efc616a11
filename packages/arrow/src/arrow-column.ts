import type { DType, StringTensorLike, Tensor } from '@tenon/core'
import { AlignmentError, ArgumentError, cpu, tensorType, Tensor as CoreTensor, UnsupportedError } from '@tenon/core'
import {
  checkOptions,
  countZeros,
  inspectAsText,
  newTensor,
  type StringArgument,
  unpackBits,
  wrongType,
} from '@tenon/core/internal'
import { malformed } from './errors/arrow-error.ts'
import type { ImportedMemory } from './import/import-owner.ts'
import type { Node } from './import/read-array.ts'
import { bitmapOf, offsetsOf, stringsOf } from './import/text-column.ts'
import type { ArrowField } from './schema/arrow-schema.ts'

/** Options of the methods that return the values of a column. */
export interface ValuesOptions {
  /** Whether the values are copied to memory of the garbage collector. Otherwise they are in the memory of the batch, and end with it. */
  readonly copy?: boolean
}

/**
 * A column of an imported batch. Its values are read only when they are asked for, and end with the batch unless they are copied.
 *
 * | type of Arrow                              | values                                                             |
 * | ------------------------------------------ | ------------------------------------------------------------------ |
 * | integers and floats                        | `tensor()` of this type                                            |
 * | dates, times, timestamps, durations        | `tensor()` of their integers                                       |
 * | fixed-size lists of numbers                | `tensor()` with an axis more; `children[0]` has nulls in the lists |
 * | boolean                                    | `tensor({ copy: true })`, because Arrow has 8 of them in a byte    |
 * | decimals, intervals, fixed-size binary     | `tensor()` of bytes with an axis more                              |
 * | utf8, binary, their large and view forms   | `strings()`                                                        |
 * | list, map                                  | `offsets()`, and the values in `children[0]`                       |
 * | struct                                     | `children`                                                         |
 * | dictionary                                 | `tensor()` of the indices, and the values in `dictionary`          |
 */
export class ArrowColumn {
  readonly field: ArrowField
  /** The number of elements. */
  readonly length: number
  readonly children: readonly ArrowColumn[]
  /** The values to which the indices of this column refer, if it has a dictionary. */
  readonly dictionary: ArrowColumn | undefined
  readonly #node: Node
  readonly #memory: ImportedMemory
  #nullCount: number

  static {
    inspectAsText(this)
  }

  /** @internal */
  constructor(node: Node, memory: ImportedMemory) {
    this.field = node.field
    this.length = node.length
    this.children = Object.freeze(node.children.map((child) => new ArrowColumn(child, memory)))
    this.dictionary = node.dictionary && new ArrowColumn(node.dictionary, memory)
    this.#node = node
    this.#memory = memory
    this.#nullCount = node.nullCount
  }

  get name(): string {
    return this.field.name
  }

  /**
   * The number of nulls, which is counted at the first use if the producer has not done so.
   *
   * @throws {ScopeClosedError} if it was not counted before the batch was closed.
   */
  get nullCount(): number {
    if (this.#nullCount >= 0) return this.#nullCount
    const bits = this.#bitmap()
    this.#nullCount = bits === undefined ? 0 : countZeros(bits, this.#node.offset, this.length)
    return this.#nullCount
  }

  /** The element type of {@link tensor}. Undefined if the column has no tensor. */
  get dtype(): DType | undefined {
    return elementsOf(this.#node)?.dtype
  }

  /**
   * Returns the values as a tensor over the memory of the batch, which is read-only unless the batch was imported with `writable`. Elements
   * that are null have any value: see {@link validity}.
   *
   * @throws {UnsupportedError} if the type has no tensor. @throws {ArgumentError} if it is boolean and `copy` is not true.
   * @throws {AlignmentError} if the memory is not aligned to its elements, and is not copied.
   * @throws {ScopeClosedError} if the batch is closed.
   */
  tensor(options?: ValuesOptions): Tensor {
    const isCopied = readCopy(options)
    this.#memory.gate.owner.checkAlive()
    const node = this.#node
    if (node.field.layout.kind === 'bool') return this.#bools(isCopied)
    const elements = elementsOf(node)
    if (elements === undefined) throw this.#unsupported('tensor()')
    const { dtype, shape, address, width } = elements
    const type = tensorType(dtype, shape)
    if (type.byteSize === 0) return newTensor(type)
    if (isCopied) {
      const copy = newTensor(type)
      // The memory need not be aligned.
      new Uint8Array(copy.segment.view().buffer, copy.segment.view().byteOffset, type.byteSize).set(
        this.#memory.bytes(address, type.byteSize),
      )
      return copy
    }
    if (address % width !== 0)
      throw new AlignmentError(
        `column ${this.name} must be aligned to ${width} bytes, got an address ${address % width} behind`,
        {
          hint: 'Copy it with tensor({ copy: true }).',
        },
      )
    return new CoreTensor(this.#memory.segment(address, type.byteSize), type, cpu)
  }

  #bools(isCopied: boolean): Tensor {
    if (!isCopied)
      throw new ArgumentError(`the booleans of column ${this.name} are bits, which a tensor does not have`, {
        hint: 'Copy them to bytes with tensor({ copy: true }).',
      })
    const { buffers, offset, length } = this.#node
    return this.#bytesOf(length === 0 ? undefined : this.#memory.bytes(buffers[1]!, Math.ceil((offset + length) / 8)))
  }

  /** A tensor of the bits of this column's elements. */
  #bytesOf(bits: Uint8Array | undefined): Tensor<'bool'> {
    const made = newTensor(tensorType('bool', [this.length])) as Tensor<'bool'>
    if (bits !== undefined) unpackBits(bits, this.#node.offset, made.view())
    return made
  }

  #bitmap(): Uint8Array | undefined {
    this.#memory.gate.owner.checkAlive()
    return bitmapOf(this.#node, this.#memory)
  }

  #unsupported(method: string): UnsupportedError {
    const { format } = this.field
    return new UnsupportedError(`column ${this.name} of the Arrow format ${format} has no ${method}`, {
      hint: 'See the table of types of ArrowColumn.',
      details: { format },
    })
  }

  /**
   * Returns the strings, or the bytes of a binary column, as a string tensor. Nulls are empty strings there: see {@link validity}. Long strings
   * are those of the batch, unless they are copied.
   *
   * @returns a `StringTensor` of `@tenon/tstring`.
   * @throws {UnsupportedError} if the type has no strings, or `@tenon/tstring` is not loaded. @throws {ScopeClosedError} if the batch is closed.
   * @throws {ArrowError | MalformedTensorError} if the offsets lead outside of the bytes.
   */
  strings(options?: ValuesOptions): StringTensorLike & StringArgument {
    const isCopied = readCopy(options)
    this.#memory.gate.owner.checkAlive()
    const { kind } = this.#node.field.layout
    if (kind !== 'text' && kind !== 'views') throw this.#unsupported('strings()')
    return stringsOf(this.#node, this.#memory, isCopied)
  }

  /**
   * Returns which elements are not null, as a copy with a byte each.
   *
   * @returns undefined if no element is null. @throws {ScopeClosedError} if the batch is closed.
   */
  validity(): Tensor<'bool'> | undefined {
    if (this.nullCount === 0) return undefined
    return this.#bytesOf(this.#bitmap())
  }

  /**
   * Returns where the elements of each list begin in `children[0]`, and behind them where the last one ends, as a copy.
   *
   * @throws {UnsupportedError} if this is not a list or a map. @throws {ScopeClosedError} if the batch is closed.
   * @throws {ArrowError} if an offset is smaller than the one before it, or leads outside of the child.
   */
  offsets(): Tensor<'int32'> | Tensor<'int64'> {
    this.#memory.gate.owner.checkAlive()
    const { layout } = this.#node.field
    if (layout.kind !== 'list') throw this.#unsupported('offsets()')
    const offsets = offsetsOf(this.#node, this.#memory, layout.width)
    const made = newTensor(tensorType(layout.width === 4 ? 'int32' : 'int64', [offsets.length]))
    const copy = made.view() as typeof offsets
    copy.set(offsets as never)
    const limit = this.#node.children[0]!.length
    let previous = 0
    for (let i = 0; i < copy.length; i++) {
      const offset = Number(copy[i])
      if (offset < previous || offset > limit)
        throw malformed(this.#node.path, `must have offset ${i} from ${previous} to ${limit}, got ${offset}`)
      previous = offset
    }
    return made as Tensor<'int32'> | Tensor<'int64'>
  }

  toString(): string {
    const { name, format } = this.field
    return `ArrowColumn ${JSON.stringify(name)} ${format}[${this.length}]`
  }
}

function readCopy(options: ValuesOptions | undefined): boolean {
  const { copy = false } = checkOptions(options, ['copy'])
  if (typeof copy !== 'boolean') throw wrongType('copy', 'true or false', copy)
  return copy
}

/** The elements of a column. */
interface Elements {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly address: number
  /** The bytes to a multiple of which the elements are aligned. */
  readonly width: number
}

/** The place of the elements of a tensor. Undefined if the type has no elements. */
function elementsOf({ field: { layout }, buffers, offset, length, children }: Node): Elements | undefined {
  if (layout.kind === 'number') {
    const { dtype, width } = layout
    return { dtype, shape: [length], address: buffers[1]! + offset * width, width }
  }
  if (layout.kind === 'bytes')
    return { dtype: 'uint8', shape: [length, layout.width], address: buffers[1]! + offset * layout.width, width: 1 }
  if (layout.kind === 'bool') return { dtype: 'bool', shape: [length], address: 0, width: 1 }
  if (layout.kind !== 'fixedList') return undefined
  const [child] = children
  const inner = child === undefined || child.field.layout.kind === 'bool' ? undefined : elementsOf(child)
  if (inner === undefined) return undefined
  return { ...inner, shape: [length, layout.size, ...inner.shape.slice(1)] }
}
