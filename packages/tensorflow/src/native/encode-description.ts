import type { Tensor } from '@tenon/core'
import { ByteWriter } from '@tenon/core/internal'
import { typeOfElements, type ElementType } from '../element-types.ts'
import type {
  AttributeDefinition,
  AttributeKind,
  AttributeScalar,
  AttributeValue,
  OperationDefinition,
} from '../operation.ts'

/** The numbers of the kinds of attributes in a description. */
const KINDS: Readonly<Record<AttributeKind, number>> = {
  string: 1,
  int: 2,
  float: 3,
  bool: 4,
  type: 5,
  shape: 6,
  tensor: 7,
  func: 0,
}

/**
 * Writes the description of an instance, as `tn_tf_create()` takes it.
 *
 * @param kernel the index of the kernel
 * @param counts the numbers of tensors for the operands
 * @param values the values of all attributes. The addresses of tensors are in the description.
 */
export function encodeDescription(
  kernel: number,
  { name, inputs, attributes }: OperationDefinition,
  counts: readonly number[],
  values: ReadonlyMap<string, AttributeValue>,
): Buffer {
  const writer = new ByteWriter()
  const label = Buffer.from(name)
  for (const word of [0, kernel, label.length, inputs.length, attributes.length, 0]) writer.u32(word)
  writeText(writer, label)
  for (const [i, operand] of inputs.entries()) {
    const text = Buffer.from(operand.name)
    writer.u32(counts[i]!)
    writer.u32(text.length)
    writeText(writer, text)
  }
  for (const attribute of attributes) writeAttribute(writer, attribute, values.get(attribute.name)!)
  writer.patchU32(0, writer.length)
  return Buffer.from(writer.copy().buffer)
}

function writeAttribute(writer: ByteWriter, { name, kind, isList }: AttributeDefinition, value: AttributeValue): void {
  const start = writer.length
  const text = Buffer.from(name)
  const list = isList ? (value as readonly AttributeScalar[]) : [value as AttributeScalar]
  for (const word of [0, KINDS[kind], isList ? list.length : -1, text.length]) writer.u32(word)
  writeText(writer, text)
  for (const one of list) WRITE[kind](writer, one as never)
  writer.patchU32(start, writer.length - start)
}

/** Writes a text with its terminator. */
const writeText = (writer: ByteWriter, text: Uint8Array): void => writer.bytes(Buffer.concat([text], text.length + 1))

/** The writers of values, by kind. */
const WRITE: { readonly [Kind in AttributeKind]: (writer: ByteWriter, value: never) => void } = {
  string: (writer, value: string | Uint8Array) => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    writer.u64(bytes.length)
    writer.bytes(bytes)
  },
  int: (writer, value: bigint) => writer.i64(value),
  float: (writer, value: number) => writer.bytes(new Uint8Array(Float64Array.of(value).buffer)),
  bool: (writer, value: boolean) => writer.u64(value ? 1 : 0),
  type: (writer, { code }: ElementType) => writer.u64(code),
  shape: writeShape,
  tensor: (writer, { address, type }: Tensor) => {
    writer.u64(address)
    writer.u64(type.byteSize)
    writer.u64(codeOf(type.dtype))
    writeShape(writer, type.shape)
  },
  func: () => {},
}

function writeShape(writer: ByteWriter, shape: readonly number[] | null): void {
  for (const size of shape === null ? [-1] : [shape.length, ...shape]) writer.i64(BigInt(size))
}

const codeOf = (dtype: Tensor['dtype']): number => typeOfElements(dtype)?.code ?? 0
