import type { Tensor } from '@tenon/core'
import { typeOfElements, type ElementType } from '../element-types.ts'
import type { AttributeKind, AttributeScalar, AttributeValue, OperationDefinition } from '../operation.ts'

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

/** Bytes that grow. Every number is aligned to its size. */
class Writer {
  #bytes = Buffer.alloc(512)
  #at = 0

  get size(): number {
    return this.#at
  }

  #take(size: number): number {
    const start = this.#at
    this.#at += size
    if (this.#at > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], this.#at * 2)
    return start
  }

  int32(value: number, at: number = this.#take(4)): void {
    this.#bytes.writeInt32LE(value | 0, at)
  }

  int64(value: bigint | number): void {
    const at = this.#take(8)
    this.#bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)), at)
  }

  float64(value: number): void {
    const at = this.#take(8)
    this.#bytes.writeDoubleLE(value, at)
  }

  /** Writes bytes and zeros up to a multiple of 8. */
  bytes(bytes: Uint8Array): void {
    const at = this.#take(Math.ceil(bytes.length / 8) * 8)
    this.#bytes.set(bytes, at)
  }

  /** Writes a text with its terminator. */
  text(text: Uint8Array): void {
    this.bytes(Buffer.concat([text], text.length + 1))
  }

  finish(): Buffer {
    const all = Buffer.alloc(this.#at)
    this.#bytes.copy(all)
    return all
  }
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
  const writer = new Writer()
  const label = Buffer.from(name)
  for (const word of [0, kernel, label.length, inputs.length, attributes.length, 0]) writer.int32(word)
  writer.text(label)
  for (const [i, operand] of inputs.entries()) {
    const text = Buffer.from(operand.name)
    writer.int32(counts[i]!)
    writer.int32(text.length)
    writer.text(text)
  }
  for (const { name: attribute, kind, isList } of attributes)
    writeAttribute(writer, Buffer.from(attribute), kind, isList, values.get(attribute)!)
  writer.int32(writer.size, 0)
  return writer.finish()
}

function writeAttribute(
  writer: Writer,
  name: Buffer,
  kind: AttributeKind,
  isList: boolean,
  value: AttributeValue,
): void {
  const start = writer.size
  const list = isList ? (value as readonly AttributeScalar[]) : [value as AttributeScalar]
  for (const word of [0, KINDS[kind], isList ? list.length : -1, name.length]) writer.int32(word)
  writer.text(name)
  for (const one of list) WRITE[kind](writer, one as never)
  writer.int32(writer.size - start, start)
}

/** The writers of values, by kind. */
const WRITE: { readonly [Kind in AttributeKind]: (writer: Writer, value: never) => void } = {
  string: (writer, value: string | Uint8Array) => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    writer.int64(bytes.length)
    writer.bytes(bytes)
  },
  int: (writer, value: bigint) => writer.int64(value),
  float: (writer, value: number) => writer.float64(value),
  bool: (writer, value: boolean) => writer.int64(value ? 1 : 0),
  type: (writer, { code }: ElementType) => writer.int64(code),
  shape: writeShape,
  tensor: (writer, { address, type }: Tensor) => {
    writer.int64(address)
    writer.int64(type.byteSize)
    writer.int64(codeOf(type.dtype))
    writeShape(writer, type.shape)
  },
  func: () => {},
}

function writeShape(writer: Writer, shape: readonly number[] | null): void {
  writer.int64(shape === null ? -1 : shape.length)
  for (const size of shape ?? []) writer.int64(size)
}

const codeOf = (dtype: Tensor['dtype']): number => typeOfElements(dtype)?.code ?? 0
