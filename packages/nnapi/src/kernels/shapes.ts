import type { Operation, Pair } from './define.ts'

/** Returns the shape to which two shapes broadcast. */
export function broadcastShape(operation: Operation, a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, axis) => {
    const [m, n] = [a[a.length - rank + axis] ?? 1, b[b.length - rank + axis] ?? 1]
    if (m !== n && m !== 1 && n !== 1)
      throw operation.refused(`must get shapes that broadcast, got [${a.join(', ')}] and [${b.join(', ')}]`)
    return m === 1 ? n : m
  })
}

/** The padding of one axis: NNAPI's scheme, or the elements before and after. */
export type Padding = number | Pair

export type Windowing = readonly [size: number, before: number]

export const INT32_MAXIMUM: number = 2 ** 31 - 1

/** Returns the positions of a window, dilation included. Implicit schemes are NNAPI's 1 (same) and 2 (valid). */
export function windowing(op: Operation, input: number, window: number, stride: number, padding: Padding): Windowing {
  checkWindow(op, window, stride, padding)
  let before: number
  let size: number
  if (typeof padding === 'number') {
    const isSame = padding === 1
    size = Math.ceil((isSame ? input : input - window + 1) / stride)
    before = isSame ? Math.floor(Math.max((size - 1) * stride + window - input, 0) / 2) : 0
  } else {
    before = padding[0]
    size = Math.floor((input + before + padding[1] - window) / stride) + 1
  }
  if (size < 1 || size > INT32_MAXIMUM) throw op.refused(`must get a window that fits, got ${window} over ${input}`)
  return [size, before]
}

export function checkWindow(op: Operation, window: number, stride: number, padding: Padding): void {
  if (!(stride >= 1 && window >= 1 && window <= INT32_MAXIMUM))
    throw op.refused(`must get strides, dilations and windows from 1 to 2^31 - 1, got ${stride} and ${window}`)
  if (typeof padding !== 'number') {
    if (Math.min(...padding) < 0) throw op.refused(`must get padding from 0 up, got ${padding.join(' and ')}`)
  } else if (padding !== 1 && padding !== 2) throw op.refused(`must get padding scheme 1 or 2, got ${padding}`)
}

/** The sizes of images, and their order in a tensor. */
export interface ImageShape {
  readonly batches: number
  readonly height: number
  readonly width: number
  readonly channels: number
}

export function imageShape(dimensions: readonly number[], isNchw: boolean): ImageShape {
  const [batches, a, b, c] = dimensions as [number, number, number, number]
  return isNchw ? { batches, channels: a, height: b, width: c } : { batches, height: a, width: b, channels: c }
}

export function dimensionsOf({ batches, height, width, channels }: ImageShape, isNchw: boolean): readonly number[] {
  return isNchw ? [batches, channels, height, width] : [batches, height, width, channels]
}
