/** Operations in plain double precision, written for reading: what the driver's must agree with. */

export interface Array4 {
  readonly shape: readonly number[]
  readonly values: readonly number[]
}

export const count = (shape: readonly number[]): number => shape.reduce((total, size) => total * size, 1)

/** The index of a position, row-major; axes of size 1 are repeated. */
const at = (shape: readonly number[], position: readonly number[]): number =>
  shape.reduce(
    (index, size, axis) => index * size + (size === 1 ? 0 : position[position.length - shape.length + axis]!),
    0,
  )

export const positions = function* (shape: readonly number[]): Generator<number[]> {
  const total = count(shape)
  for (let index = 0; index < total; index++) {
    let rest = index
    const position = shape.map(() => 0)
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      position[axis] = rest % shape[axis]!
      rest = Math.floor(rest / shape[axis]!)
    }
    yield position
  }
}

export const make = (shape: readonly number[], value: (position: number[]) => number): Array4 => ({
  shape,
  values: [...positions(shape)].map(value),
})
export const get = ({ shape, values }: Array4, position: readonly number[]): number => values[at(shape, position)]!

export const activations: readonly ((value: number) => number)[] = [
  (value) => value,
  (value) => Math.max(value, 0),
  (value) => Math.min(Math.max(value, -1), 1),
  (value) => Math.min(Math.max(value, 0), 6),
]

export function binary(a: Array4, b: Array4, operate: (x: number, y: number) => number, activation: number): Array4 {
  const rank = Math.max(a.shape.length, b.shape.length)
  const shape = Array.from({ length: rank }, (_, axis) =>
    Math.max(a.shape[a.shape.length - rank + axis] ?? 1, b.shape[b.shape.length - rank + axis] ?? 1),
  )
  return make(shape, (position) => activations[activation]!(operate(get(a, position), get(b, position))))
}

export const unary = (a: Array4, operate: (x: number) => number): Array4 => ({
  shape: a.shape,
  values: a.values.map(operate),
})

const withAxis = (position: readonly number[], axis: number, value: number): number[] =>
  position.map((old, i) => (i === axis ? value : old))

export function softmax(a: Array4, beta: number, axis: number): Array4 {
  const line = (position: number[]): number[] =>
    Array.from({ length: a.shape[axis]! }, (_, i) => get(a, withAxis(position, axis, i)))
  return make(a.shape, (position) => {
    const most = Math.max(...line(position))
    const sum = line(position).reduce((total, value) => total + Math.exp(beta * (value - most)), 0)
    return Math.exp(beta * (get(a, position) - most)) / sum
  })
}

export const transpose = (a: Array4, order: readonly number[]): Array4 =>
  make(
    order.map((axis) => a.shape[axis]!),
    (position) =>
      get(
        a,
        a.shape.map((_, axis) => position[order.indexOf(axis)]!),
      ),
  )

export function concatenation(parts: readonly Array4[], axis: number): Array4 {
  const shape = withAxis(
    parts[0]!.shape,
    axis,
    parts.reduce((sum, part) => sum + part.shape[axis]!, 0),
  )
  return make(shape, (position) => {
    let start = 0
    for (const part of parts) {
      if (position[axis]! < start + part.shape[axis]!)
        return part.values[rowMajor(part.shape, withAxis(position, axis, position[axis]! - start))]!
      start += part.shape[axis]!
    }
    throw new Error('outside')
  })
}

export const rowMajor = (shape: readonly number[], position: readonly number[]): number =>
  shape.reduce((index, size, axis) => index * size + position[axis]!, 0)

export function gather(a: Array4, indices: Array4, axis: number): Array4 {
  const shape = [...a.shape.slice(0, axis), ...indices.shape, ...a.shape.slice(axis + 1)]
  const k = indices.shape.length
  return make(shape, (position) => {
    const index = indices.values[rowMajor(indices.shape, position.slice(axis, axis + k))]!
    return a.values[rowMajor(a.shape, [...position.slice(0, axis), index, ...position.slice(axis + k)])]!
  })
}

export function argmax(a: Array4, axis: number): Array4 {
  const shape = a.shape.filter((_, i) => i !== axis)
  return make(shape.length === 0 ? [1] : shape, (position) => {
    const rest = shape.length === 0 ? [] : position
    const line = Array.from(
      { length: a.shape[axis]! },
      (_, i) => a.values[rowMajor(a.shape, [...rest.slice(0, axis), i, ...rest.slice(axis)])]!,
    )
    return line.indexOf(Math.max(...line))
  })
}

export interface Windows {
  readonly padLeft: number
  readonly padTop: number
  readonly strideWidth: number
  readonly strideHeight: number
  readonly dilationWidth?: number
  readonly dilationHeight?: number
  /** Of the output: [height, width]. */
  readonly size: readonly [height: number, width: number]
}

/** Calls `visit` for each place of a window that lies in the image. */
function overWindow(
  image: Array4,
  height: number,
  width: number,
  w: Windows,
  y: number,
  x: number,
  visit: (i: number, k: number, row: number, column: number) => void,
): void {
  for (let i = 0; i < height; i++) {
    for (let k = 0; k < width; k++) {
      const row = y * w.strideHeight - w.padTop + i * (w.dilationHeight ?? 1)
      const column = x * w.strideWidth - w.padLeft + k * (w.dilationWidth ?? 1)
      if (row >= 0 && row < image.shape[1]! && column >= 0 && column < image.shape[2]!) visit(i, k, row, column)
    }
  }
}

export function convolution(image: Array4, filter: Array4, bias: Array4, w: Windows, activation: number): Array4 {
  const [channels, height, width, depth] = filter.shape as [number, number, number, number]
  return make([image.shape[0]!, ...w.size, channels], ([n, y, x, c]) => {
    let sum = bias.values[c!]!
    overWindow(image, height, width, w, y!, x!, (i, k, row, column) => {
      for (let d = 0; d < depth; d++)
        sum +=
          image.values[rowMajor(image.shape, [n!, row, column, d])]! *
          filter.values[rowMajor(filter.shape, [c!, i, k, d])]!
    })
    return activations[activation]!(sum)
  })
}

export function depthwise(image: Array4, filter: Array4, bias: Array4, w: Windows, activation: number): Array4 {
  const [, height, width, channels] = filter.shape as [number, number, number, number]
  const multiplier = channels / image.shape[3]!
  return make([image.shape[0]!, ...w.size, channels], ([n, y, x, c]) => {
    let sum = bias.values[c!]!
    overWindow(image, height, width, w, y!, x!, (i, k, row, column) => {
      sum +=
        image.values[rowMajor(image.shape, [n!, row, column, Math.floor(c! / multiplier)])]! *
        filter.values[rowMajor(filter.shape, [0, i, k, c!])]!
    })
    return activations[activation]!(sum)
  })
}

export function fullyConnected(input: Array4, weights: Array4, bias: Array4, activation: number): Array4 {
  const [units, size] = weights.shape as [number, number]
  return make([input.values.length / size, units], ([n, u]) => {
    let sum = bias.values[u!]!
    for (let i = 0; i < size; i++) sum += input.values[n! * size + i]! * weights.values[u! * size + i]!
    return activations[activation]!(sum)
  })
}

export function pool(
  image: Array4,
  height: number,
  width: number,
  w: Windows,
  isAverage: boolean,
  activation: number,
): Array4 {
  return make([image.shape[0]!, ...w.size, image.shape[3]!], ([n, y, x, c]) => {
    const seen: number[] = []
    overWindow(image, height, width, w, y!, x!, (_, __, row, column) =>
      seen.push(image.values[rowMajor(image.shape, [n!, row, column, c!])]!),
    )
    const value = isAverage ? seen.reduce((sum, one) => sum + one, 0) / seen.length : Math.max(...seen)
    return activations[activation]!(value)
  })
}

/** Output size, and padding left and top, of windows over an image. */
export function place(
  padding: number | readonly number[],
  [strideWidth, strideHeight]: readonly [number, number],
  [width, height]: readonly [number, number],
  imageWidth: number,
  imageHeight: number,
): [readonly [number, number], number, number] {
  const along = (image: number, window: number, stride: number, before: number, after: number): [number, number] => {
    if (padding === 1) {
      const places = Math.ceil(image / stride)
      return [places, Math.floor(Math.max((places - 1) * stride + window - image, 0) / 2)]
    }
    return [Math.floor((image + before + after - window) / stride) + 1, before]
  }
  const [left = 0, right = 0, top = 0, bottom = 0] = typeof padding === 'number' ? [] : padding
  const [columns, padLeft] = along(imageWidth, width, strideWidth, left, right)
  const [rows, padTop] = along(imageHeight, height, strideHeight, top, bottom)
  return [[rows, columns], padLeft, padTop]
}
