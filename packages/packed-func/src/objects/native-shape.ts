import { LAYOUTS } from '@tenon/core/internal'
import { builtin } from '../functions/builtin.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject, registerClass } from './native-object.ts'

/** A shape in native code: a list of whole numbers. Made by {@link shape}. */
export class NativeShape extends NativeObject {
  static {
    registerClass(this, TypeIndex.Shape)
  }

  /** The sizes, as bigints where a number would not be exact. */
  toArray(): (number | bigint)[] {
    const stack = openStack()
    const { size, offsets } = LAYOUTS.TVMFFIShapeCell
    const cell = stack.copyOf(this.checkAlive() + LAYOUTS.TVMFFIObject.size, size)
    const count = Number(cell.readBigUInt64LE(offsets.size))
    const sizes = stack.copyOf(Number(cell.readBigUInt64LE(offsets.data)), count * 8)
    return Array.from({ length: count }, (_, i) => {
      const value = sizes.readBigInt64LE(i * 8)
      return Number.isSafeInteger(Number(value)) ? Number(value) : value
    })
  }
}

/**
 * Makes a shape, for functions that take one.
 *
 * @throws {PackedFuncError} of kind `ValueError` if a size is not a whole number.
 * @example
 * shape([2, 3]).toArray() // [2, 3]
 */
export function shape(sizes: readonly (number | bigint)[]): NativeShape {
  return builtin('ffi.Shape').call(...sizes) as NativeShape
}
