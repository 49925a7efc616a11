// The tensor protocol, which docs/tensor-protocol.md specifies.
import type { Device } from '../types/device.ts'
import type { DType } from '../types/dtype.ts'
import type { Packing } from '../types/tensor-type.ts'

/**
 * The key of the method by which an object offers its memory as a tensor: `Symbol.for('dlpack.tensor')`. The method takes no
 * arguments, and returns a {@link TensorDescription} or a {@link StringDescription}.
 *
 * @example
 * const values = new Float32Array([1, 2, 3, 4])
 * const matrix = { [tensorSymbol]: () => ({ version: 1, dtype: 'float32', shape: [2, 2], buffer: values.buffer }) }
 * from(matrix).toNested() // [[1, 2], [3, 4]]
 */
export const tensorSymbol: unique symbol = Symbol.for('dlpack.tensor') as never

/** The members that numbers and strings have in common. */
interface Description {
  /** The version of the protocol. Readers refuse others than 1. */
  readonly version: 1
  /** The size along each axis; empty for a scalar. */
  readonly shape: readonly number[]
  /**
   * A bitmap with a bit for each element in row-major order, the lowest bit first, which is 0 for a null. Without it, no element is
   * null.
   */
  readonly validity?: Uint8Array | undefined
  /** The position of the first element's bit. The default is 0. */
  readonly validityOffset?: number | undefined
  /** The object that the reader keeps reachable while it uses the memory. */
  readonly owner?: object | undefined
  /** Keeps the memory open for an asynchronous use. Absent if nothing but the garbage collector ends the memory. */
  hold?: (() => { release(): void }) | undefined
}

/** The memory of a tensor, as its object offers it. Either `buffer` or `address` is present. */
export interface TensorDescription<D extends DType = DType> extends Description {
  /** The canonical name of the element type. */
  readonly dtype: D
  /** The steps between neighbours along each axis, in elements. They can be negative. The default is row-major. */
  readonly strides?: readonly number[] | undefined
  /** The position of the element at index [0, ..., 0] in the buffer or behind the address, in bytes. The default is 0. */
  readonly byteOffset?: number | undefined
  readonly buffer?: ArrayBufferLike | undefined
  /** The address of memory that is in no buffer. */
  readonly address?: bigint | undefined
  /** The size of the memory at `address` in bytes. */
  readonly byteSize?: number | undefined
  /** The default is the CPU. */
  readonly device?: Device | undefined
  /** Whether the reader must not write. */
  readonly readOnly?: boolean | undefined
  /** The layout of elements of less than a byte: `element` (the default) or `packed`. */
  readonly packing?: Packing | undefined
  /** Whether the memory is a copy, which nothing else sees. */
  readonly copied?: boolean | undefined
}

/** Strings in UTF-8, in the form of Arrow. */
export interface StringDescription extends Description {
  readonly dtype: 'string'
  /** One offset into `data` more than there are strings. */
  readonly offsets: Int32Array | BigInt64Array
  readonly data: Uint8Array
  readonly copied?: boolean | undefined
}

/** An object that offers its memory by the tensor protocol. */
export interface OfferedTensor<out D extends DType = DType> {
  [tensorSymbol](): TensorDescription<D>
}

/** An object that offers strings by the tensor protocol. */
export interface OfferedStrings {
  [tensorSymbol](): StringDescription
}
