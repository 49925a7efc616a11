/** Reductions, moves and images in plain double precision, written for reading: what the driver's must agree with. */
import {
  type Array4,
  activations,
  count,
  get,
  make,
  positions,
  rowMajor,
  transpose,
  type Windows,
} from './reference.ts'

export function reduce(
  a: Array4,
  axes: readonly number[],
  keeps: boolean,
  combine: (values: readonly number[]) => number,
): Array4 {
  const isReduced = a.shape.map((_, axis) => axes.some((one) => (one + a.shape.length) % a.shape.length === axis))
  const kept = a.shape.map((size, axis) => (isReduced[axis] ? 1 : size))
  const groups = new Map<number, number[]>()
  for (const position of positions(a.shape)) {
    const group = rowMajor(
      kept,
      position.map((at, axis) => (isReduced[axis] ? 0 : at)),
    )
    groups.set(group, [...(groups.get(group) ?? []), get(a, position)])
  }
  const values = Array.from({ length: count(kept) }, (_, i) => combine(groups.get(i)!))
  const shape = keeps ? kept : kept.filter((_, axis) => !isReduced[axis])
  return { shape: shape.length === 0 ? [1] : shape, values }
}

export const slice = (a: Array4, starts: readonly number[], sizes: readonly number[]): Array4 =>
  make(
    sizes,
    (position) =>
      a.values[
        rowMajor(
          a.shape,
          position.map((at, axis) => at + starts[axis]!),
        )
      ]!,
  )

export const pad = (a: Array4, paddings: readonly (readonly [number, number])[]): Array4 =>
  make(
    a.shape.map((size, axis) => size + paddings[axis]![0] + paddings[axis]![1]),
    (position) => {
      const from = position.map((at, axis) => at - paddings[axis]![0])
      return from.every((at, axis) => at >= 0 && at < a.shape[axis]!) ? a.values[rowMajor(a.shape, from)]! : 0
    },
  )

export const tile = (a: Array4, repeats: readonly number[]): Array4 =>
  make(
    a.shape.map((size, axis) => size * repeats[axis]!),
    (position) =>
      a.values[
        rowMajor(
          a.shape,
          position.map((at, axis) => at % a.shape[axis]!),
        )
      ]!,
  )

export function topK(a: Array4, k: number): { values: Array4; indices: Array4 } {
  const shape = [...a.shape.slice(0, -1), k]
  const order = (position: readonly number[]): number => {
    const line = Array.from({ length: a.shape.at(-1)! }, (_, i) => i)
    const valueAt = (i: number): number => a.values[rowMajor(a.shape, [...position.slice(0, -1), i])]!
    return line.toSorted((i, j) => valueAt(j) - valueAt(i) || i - j)[position.at(-1)!]!
  }
  const indices = make(shape, order)
  const values = make(shape, (position) => a.values[rowMajor(a.shape, [...position.slice(0, -1), order(position)])]!)
  return { values, indices }
}

export const toNchw = (a: Array4): Array4 => transpose(a, [0, 3, 1, 2])

/** Adds each pixel times the filter to the output. */
export function transposedConvolution(
  image: Array4,
  filter: Array4,
  bias: Array4,
  { padLeft, padTop, strideWidth, strideHeight, size: [rows, columns] }: Windows,
  activation: number,
): Array4 {
  const [channels, height, width, depth] = filter.shape as [number, number, number, number]
  const shape = [image.shape[0]!, rows, columns, channels]
  const sums = make(shape, ([, , , channel]) => bias.values[channel!]!).values as number[]
  for (const [n, y, x, d] of positions([...image.shape.slice(0, 3), depth]) as Iterable<
    [number, number, number, number]
  >) {
    for (const [c, i, k] of positions([channels, height, width]) as Iterable<[number, number, number]>) {
      const [row, column] = [y * strideHeight + i - padTop, x * strideWidth + k - padLeft]
      if (row < 0 || row >= rows || column < 0 || column >= columns) continue
      const weight = filter.values[rowMajor(filter.shape, [c, i, k, d])]!
      sums[rowMajor(shape, [n, row, column, c])]! += image.values[rowMajor(image.shape, [n, y, x, d])]! * weight
    }
  }
  return { shape, values: sums.map(activations[activation]!) }
}

export interface ResizeOptions {
  readonly aligns: boolean
  readonly hasCenters: boolean
}

const placeOf = (at: number, input: number, output: number, { aligns, hasCenters }: ResizeOptions): number => {
  if (aligns) return output > 1 ? (at * (input - 1)) / (output - 1) : 0
  return hasCenters ? ((at + 0.5) * input) / output - 0.5 : (at * input) / output
}

const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most)

export function resizeBilinear(a: Array4, rows: number, columns: number, options: ResizeOptions): Array4 {
  const [batches, height, width, channels] = a.shape as [number, number, number, number]
  return make([batches, rows, columns, channels], ([n, y, x, c]) => {
    const row = clamp(placeOf(y!, height, rows, options), height - 1)
    const column = clamp(placeOf(x!, width, columns, options), width - 1)
    let sum = 0
    for (const i of [Math.floor(row), Math.floor(row) + 1])
      for (const k of [Math.floor(column), Math.floor(column) + 1]) {
        const weight = (1 - Math.abs(row - i)) * (1 - Math.abs(column - k))
        if (weight > 0) sum += weight * a.values[rowMajor(a.shape, [n!, i, k, c!])]!
      }
    return sum
  })
}

export function resizeNearest(a: Array4, rows: number, columns: number, options: ResizeOptions): Array4 {
  const [batches, height, width, channels] = a.shape as [number, number, number, number]
  const nearest = (at: number, input: number, output: number): number => {
    if (options.aligns) return Math.floor(placeOf(at, input, output, options) + 0.5)
    return Math.floor(((at + (options.hasCenters ? 0.5 : 0)) * input) / output)
  }
  return make([batches, rows, columns, channels], ([n, y, x, c]) => {
    const from = [n!, clamp(nearest(y!, height, rows), height - 1), clamp(nearest(x!, width, columns), width - 1), c!]
    return a.values[rowMajor(a.shape, from)]!
  })
}
