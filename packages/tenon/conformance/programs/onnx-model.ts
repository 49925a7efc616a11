/** Models of one node in the format of ONNX, which is protobuf: `onnx/onnx.proto` has the numbers of the fields. */

/** The bytes of a number, seven bits each. */
const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)])

/** A field of a message: a number, a text, or the bytes of a message. */
function field(id: number, value: number | string | readonly number[]): number[] {
  if (typeof value === 'number') return [...varint(id * 8), ...varint(value)]
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return [...varint(id * 8 + 2), ...varint(bytes.length), ...bytes]
}

const [FLOAT, INT64] = [1, 7]

/** A ValueInfoProto, whose sizes have names, so that they can have any value. */
function valueInfo(name: string, type: number, rank: number): number[] {
  const sizes = Array.from({ length: rank }, (_, axis) => field(1, field(2, `${name}${axis}`))).flat()
  return [...field(1, name), ...field(2, field(1, [...field(1, type), ...field(2, sizes)]))]
}

/**
 * Returns a model that applies an operator to `x`, whose result is `y`.
 *
 * @param rank the number of axes of x and y. @param inputs the names of further inputs, which are lists of int64.
 */
export function oneNode(operator: string, rank: number, inputs: readonly string[] = []): Uint8Array {
  const node = [...['x', ...inputs].flatMap((name) => field(1, name)), ...field(2, 'y'), ...field(4, operator)]
  const graph = [
    ...field(1, node),
    ...field(2, operator),
    ...field(11, valueInfo('x', FLOAT, rank)),
    ...inputs.flatMap((name) => field(11, valueInfo(name, INT64, 1))),
    ...field(12, valueInfo('y', FLOAT, rank)),
  ]
  return Uint8Array.from([...field(1, 8), ...field(7, graph), ...field(8, field(2, 17))])
}
