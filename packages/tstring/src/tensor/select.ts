import { ArgumentError, BoundsError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { isStructLayout, structSize } from '../layouts/layout.ts'
import type { Parts } from './parts.ts'

/** A run of elements, and the shape they have. */
export interface Range {
  readonly first: number
  readonly count: number
  readonly shape: readonly number[]
  indices(): Uint32Array
}

/** Rows of the first axis, counted as `Array.prototype.slice` does. @throws {ArgumentError} for a scalar. */
export function rangeOf(shape: readonly number[], start: number | undefined, end: number | undefined): Range {
  const [rows, ...rest] = shape
  if (rows === undefined) throw new ArgumentError('a scalar has no axis to slice')
  const low = clamp(start ?? 0, rows, 'start')
  const high = Math.max(clamp(end ?? rows, rows, 'end'), low)
  const row = rest.reduce((total, size) => total * size, 1)
  const [first, count] = [low * row, (high - low) * row]
  return {
    first,
    count,
    shape: Object.freeze([high - low, ...rest]),
    indices: () => Uint32Array.from({ length: count }, (_, i) => first + i),
  }
}

function clamp(value: number, rows: number, name: string): number {
  if (!Number.isInteger(value)) throw new ArgumentError(`${name} must be a whole number, got ${describe(value)}`)
  return value < 0 ? Math.max(rows + value, 0) : Math.min(value, rows)
}

/** Indices of elements. @throws {BoundsError} if there is no such element. @throws {ArgumentError} if they are no array. */
export function selectionOf(indices: readonly number[] | Uint32Array, length: number): Uint32Array {
  if (!Array.isArray(indices) && !(indices instanceof Uint32Array)) {
    throw new ArgumentError(`indices must be an array or a Uint32Array, got ${describe(indices)}`)
  }
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i]!
    if (index >>> 0 !== index || index >= length) {
      throw new BoundsError(`indices[${i}] must be a whole number below ${length}, got ${describe(index)}`, {
        details: { at: i, index, length },
      })
    }
  }
  return Uint32Array.from(indices)
}

/** The same structs, fewer of them: offsets count from each struct, so that they stay right. Undefined without structs. */
export function windowOf(parts: Parts, { first, count, shape }: Range): Parts | undefined {
  const { image } = parts
  if (!isStructLayout(image.layout)) return undefined
  const stride = structSize(image.layout)
  const table = image.table.asSlice(first * stride, count * stride)
  const data = image.data.asSlice(Math.min(first * stride, image.data.byteSize))
  const { close: _, ...shared } = parts
  return {
    ...shared,
    image: { ...image, count, table, data, sums: undefined },
    shape,
    segment: table,
    isWindow: true,
  }
}
