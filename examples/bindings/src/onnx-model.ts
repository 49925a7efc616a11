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

/** The element types of tensors. */
const [FLOAT, STRING] = [1, 8]

/** A tensor by its name. A dimension is a number, or a name that each call gives a number. */
function tensor(name: string, elementType: number, ...dimensions: readonly (number | string)[]): Uint8Array {
  const shape = message(
    ...dimensions.map((one): Field => [1, typeof one === 'number' ? message([1, one]) : message([2, one])]),
  )
  return message([1, name], [2, message([1, message([1, elementType], [2, shape])])])
}

/** The bytes of a model with one operation. */
function modelOf(
  operation: string,
  names: readonly string[],
  inputs: readonly Uint8Array[],
  output: Uint8Array,
): Uint8Array {
  const node = message(...names.map((name): Field => [1, name]), [2, 'y'], [4, operation])
  const graph = message([1, node], [2, 'model'], ...inputs.map((input): Field => [11, input]), [12, output])
  return message([1, 9], [7, graph], [8, message([2, 20])])
}

/** The bytes of an ONNX model with square matrices: y = x x. */
export function squareModel(size: number): Uint8Array {
  const matrix = (name: string): Uint8Array => tensor(name, FLOAT, size, size)
  return modelOf('MatMul', ['x', 'x'], [matrix('x')], matrix('y'))
}

/** The bytes of an ONNX model that joins the strings of two tensors of any length. */
export function concatModel(): Uint8Array {
  const strings = (name: string): Uint8Array => tensor(name, STRING, 'n')
  return modelOf('StringConcat', ['a', 'b'], [strings('a'), strings('b')], strings('y'))
}
