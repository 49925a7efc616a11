import * as types from 'node:util/types'
import { ArgumentError, BoundsError } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { isStructLayout, structSize } from '../layouts/layout.ts'
import type { Parts } from './parts.ts'

export interface Range {
  readonly first: number
  readonly count: number
  readonly shape: readonly number[]
}

/** Returns rows of the first axis, as `Array.prototype.slice` counts them. @throws {ArgumentError} for a scalar */
export function rangeOf(shape: readonly number[], start: number | undefined, end: number | undefined): Range {
  const [rows, ...rest] = shape
  if (rows === undefined) {
    throw new ArgumentError('the tensor must have an axis to slice, got a scalar', {
      details: { name: 'shape', expected: 'at least one axis', received: shape },
    })
  }
  const low = clamp(start ?? 0, rows, 'start')
  const high = Math.max(clamp(end ?? rows, rows, 'end'), low)
  // Without rows the other sizes can be so large that their product is infinite.
  const row = rows === 0 ? 0 : rest.reduce((total, size) => total * size, 1)
  return { first: low * row, count: (high - low) * row, shape: Object.freeze([high - low, ...rest]) }
}

export const indicesOf = ({ first, count }: Range): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => first + i)

function clamp(value: number, rows: number, name: string): number {
  if (!Number.isInteger(value)) throw argumentError(name, 'a whole number', value)
  return value < 0 ? Math.max(rows + value, 0) : Math.min(value, rows)
}

/** Reads indices of elements once. @throws {BoundsError} if an index is not below `length`. @throws {ArgumentError} */
export function selectionOf(indices: readonly number[] | Uint32Array, length: number): Uint32Array {
  if (types.isUint32Array(indices)) return checkIndices(new Uint32Array(indices), length)
  if (!Array.isArray(indices)) throw argumentError('indices', 'an array or a Uint32Array', indices)
  const { length: count } = indices
  const selection: number[] = []
  for (let i = 0; i < count; i++) {
    const index: unknown = indices[i]
    if (typeof index !== 'number' || index >>> 0 !== index || index >= length) throw indexError(i, index, length)
    selection.push(index)
  }
  return Uint32Array.from(selection)
}

function checkIndices(selection: Uint32Array, length: number): Uint32Array {
  const at = selection.findIndex((index) => index >= length)
  if (at < 0) return selection
  throw indexError(at, selection[at], length)
}

function indexError(at: number, index: unknown, length: number): BoundsError {
  return new BoundsError(`indices[${at}] must be a whole number below ${length}, got ${describe(index)}`, {
    details: { at, index, length },
  })
}

/** Returns a range of the same structs, whose offsets count from each struct; undefined for layouts without structs. */
export function windowOf(parts: Parts, { first, count, shape }: Range): Parts | undefined {
  const { image } = parts
  if (!isStructLayout(image.layout)) return undefined
  const stride = structSize(image.layout)
  const table = image.table.asSlice(first * stride, count * stride)
  const data = image.data.asSlice(Math.min(first * stride, image.data.byteSize))
  const { close: _, ...shared } = parts
  const window = { ...image, count, table, data, sums: undefined }
  return { ...shared, image: window, shape, segment: table, isWindow: true }
}
