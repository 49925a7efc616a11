/** A number, a text or a message, as a field of a protocol buffer. */
type Field = readonly [number: number, value: number | string | Uint8Array]

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}

function message(...fields: readonly Field[]): Uint8Array {
  const parts = fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number * 8), ...varint(value)]
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
    return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes]
  })
  return Uint8Array.from(parts)
}

const FLOAT = 1

function matrix(name: string, size: number): Uint8Array {
  const dimension: Field = [1, message([1, size])]
  const type = message([1, message([1, FLOAT], [2, message(dimension, dimension)])])
  return message([1, name], [2, type])
}

/** The bytes of an ONNX model with square matrices: y = x x. */
export function squareModel(size: number): Uint8Array {
  const node = message([1, 'x'], [1, 'x'], [2, 'y'], [4, 'MatMul'])
  const graph = message([1, node], [2, 'square'], [11, matrix('x', size)], [12, matrix('y', size)])
  return message([1, 8], [7, graph], [8, message([2, 13])])
}
