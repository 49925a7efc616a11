const words = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array } as const

type Words = Uint8Array | Uint16Array | Uint32Array

/** Elements in memory: the bytes from the first one on, and the steps between neighbours along each axis, in elements. */
export interface StridedBytes {
  readonly bytes: Uint8Array
  readonly strides: readonly number[]
  /** The position of the first element, in elements. The default is 0. Negative steps lead to the elements before it. */
  readonly first?: number
}

/**
 * Copies elements bit for bit between two layouts of the same shape. The memories must not overlap.
 *
 * @param elementSize 1, 2, 4, 8 or 16 bytes.
 */
export function copyElements(
  from: StridedBytes,
  to: StridedBytes,
  elementSize: number,
  shape: readonly number[],
): void {
  if (shape.includes(0)) return
  const wordSize = wordSizeOf(from.bytes.byteOffset | to.bytes.byteOffset | elementSize)
  const units = elementSize / wordSize
  const [source, target] = [wordsIn(from.bytes, wordSize), wordsIn(to.bytes, wordSize)]
  const last = shape.length - 1
  const copy = (axis: number, start: number, end: number): void => {
    const [size, fromStep, toStep] = [
      shape[axis] ?? 1,
      (from.strides[axis] ?? 0) * units,
      (to.strides[axis] ?? 0) * units,
    ]
    if (axis < last) {
      for (let i = 0; i < size; i++) copy(axis + 1, start + i * fromStep, end + i * toStep)
      return
    }
    for (let i = 0, at = start, into = end; i < size; i++, at += fromStep, into += toStep) {
      for (let unit = 0; unit < units; unit++) target[into + unit] = source[at + unit]!
    }
  }
  copy(0, (from.first ?? 0) * units, (to.first ?? 0) * units)
}

/** The largest word at whose multiples all of these offsets and sizes lie. */
const wordSizeOf = (offsets: number): 1 | 2 | 4 => ((offsets & 3) === 0 ? 4 : (offsets & 1) === 0 ? 2 : 1)

function wordsIn({ buffer, byteOffset, byteLength }: Uint8Array, size: 1 | 2 | 4): Words {
  return new words[size](buffer as ArrayBuffer, byteOffset, Math.floor(byteLength / size))
}
