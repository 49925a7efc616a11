import { builtin } from '../functions/builtin.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject } from './native-object.ts'

/** Where the address and the count of the sizes are in a shape object. */
const CELL_OFFSET = 24

/** A shape: whole numbers in an object of native code. Made by {@link shape}. */
export class NativeShape extends NativeObject {
  /** @internal takes over a reference */
  constructor(handle: number) {
    super(TypeIndex.Shape, handle)
  }

  /** The sizes: bigints where a number would not be exact. */
  toArray(): (number | bigint)[] {
    const stack = openStack()
    const cell = stack.copyOf(this.checkAlive() + CELL_OFFSET, 16)
    const count = Number(cell.readBigUInt64LE(8))
    const sizes = stack.copyOf(Number(cell.readBigUInt64LE()), count * 8)
    return Array.from({ length: count }, (_, i) => {
      const size = sizes.readBigInt64LE(i * 8)
      return Number.isSafeInteger(Number(size)) ? Number(size) : size
    })
  }
}

/**
 * A shape to pass to functions that want one.
 *
 * @throws {PackedFuncError} of kind `ValueError` if a size is no whole number.
 * @example
 * shape([2, 3]).toArray() // [2, 3]
 */
export function shape(sizes: readonly (number | bigint)[]): NativeShape {
  return builtin('ffi.Shape').call(...sizes) as NativeShape
}
