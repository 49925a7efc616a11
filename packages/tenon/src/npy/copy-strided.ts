const words = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const

/**
 * Copies the elements of a strided array one after another, in row-major order.
 *
 * @param source the bytes from the first element on, aligned to the smaller of the element size and 4
 * @param target the bytes of all elements, with the same alignment
 * @param elementSize 1, 2, 4, 8 or 16 bytes
 * @param strides steps between neighbours along each axis, in elements
 */
export function copyStrided(
  source: Uint8Array,
  target: Uint8Array,
  elementSize: number,
  shape: readonly number[],
  strides: readonly number[],
): void {
  if (shape.includes(0)) return
  const wordSize = Math.min(elementSize, 4) as 1 | 2 | 4
  const units = elementSize / wordSize
  const wordsOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array | Uint16Array | Uint32Array =>
    new words[wordSize](buffer as ArrayBuffer, byteOffset, byteLength / wordSize)
  const [from, to] = [wordsOf(source), wordsOf(target)]
  const last = shape.length - 1
  const index = shape.map(() => 0)
  const [rowLength, rowStride] = last < 0 ? [1, 0] : [shape[last]!, strides[last]! * units]
  for (let row = 0, written = 0; ;) {
    for (let column = 0, at = row; column < rowLength; column += 1, at += rowStride) {
      for (let unit = 0; unit < units; unit += 1) to[written + unit] = from[at + unit]!
      written += units
    }
    // Increments the leading indices like an odometer.
    let axis = last - 1
    for (; axis >= 0; axis -= 1) {
      const stride = strides[axis]! * units
      row += stride
      index[axis]! += 1
      if (index[axis]! < shape[axis]!) break
      row -= stride * shape[axis]!
      index[axis] = 0
    }
    if (axis < 0) return
  }
}
