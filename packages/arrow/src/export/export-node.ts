import { isUtf8 } from 'node:buffer'
import {
  ArgumentError,
  type DType,
  type OfferedStrings,
  type StringTensorLike,
  Tensor,
  type TensorLike,
  UnsupportedError,
} from '@tenon/core'
import {
  adopt,
  arrowOfStrings,
  checkOptions,
  countZeros,
  DEVICE_MEMORY,
  isPlainObject,
  packBits,
  wrongType,
  wrongValue,
} from '@tenon/core/internal'
import { parseFormat } from '../schema/format.ts'
import { checkMetadata } from '../schema/metadata.ts'
import type { ExportedMemory } from './exported-memory.ts'

/** The values of a column that is exported, also those of another library. */
export type ColumnValues = TensorLike | StringTensorLike | OfferedStrings

/** A column that is exported: its values, or its values with what Arrow also has. */
export type ExportColumn =
  | ColumnValues
  | {
      readonly values: ColumnValues
      /** Which elements are not null, one for each along the first axis. */
      readonly validity?: Tensor<'bool'> | undefined
      /** Arrow's format string, for a type of the same memory: `tsu:UTC` for int64, `z` for bytes in a string tensor. */
      readonly format?: string | undefined
      /** The metadata of the field, as an imported field has them. */
      readonly metadata?: ReadonlyMap<string, string> | undefined
    }

/** The contents of an `ArrowSchema` for a column. */
export interface ExportField {
  readonly name: string
  readonly format: string
  readonly metadata?: ReadonlyMap<string, string> | undefined
  readonly children: readonly ExportField[]
}

/** The contents of an `ArrowArray` for a column. */
export interface ExportNode {
  readonly length: number
  readonly nullCount: number
  /** The addresses of the buffers. */
  readonly buffers: readonly number[]
  readonly children: readonly ExportNode[]
}

interface Exported {
  readonly field: ExportField
  readonly node: ExportNode
}

/** The formats of element types. */
const formats: Partial<Record<DType, string>> = {
  bool: 'b',
  int8: 'c',
  uint8: 'C',
  int16: 's',
  uint16: 'S',
  int32: 'i',
  uint32: 'I',
  int64: 'l',
  uint64: 'L',
  float16: 'e',
  float32: 'f',
  float64: 'g',
}

/**
 * Describes a column, and adds its memory to that of the export.
 *
 * @throws {ArgumentError} if a part is not valid. @throws {UnsupportedError} if Arrow does not have the type, or the memory is not the CPU's.
 * @throws {ScopeClosedError} if the memory is closed.
 */
export function exportNode(name: string, column: ExportColumn, memory: ExportedMemory): Exported {
  const path = `column ${JSON.stringify(name)}`
  const { values, validity, format, metadata } = readColumn(path, column)
  const own = values instanceof Tensor ? values : (adopt(values, path) ?? values)
  const { field, node } = ofValues(name, own, { validity, format }, memory)
  return { field: { ...field, metadata }, node }
}

function ofValues(name: string, values: unknown, { validity, format }: Details, memory: ExportedMemory): Exported {
  if (values instanceof Tensor) return ofTensor(name, values, validity, format, memory)
  const strings = arrowOfStrings(values as StringTensorLike)
  if (strings !== undefined) return ofStrings(name, strings, validity, format, memory)
  throw wrongType(`column ${JSON.stringify(name)}`, 'a tensor, or a StringTensor of @tenon/tstring', values)
}

/** The validity, the format and the metadata of a column. */
interface Details {
  readonly validity: Tensor | undefined
  readonly format: string | undefined
  readonly metadata?: ReadonlyMap<string, string> | undefined
}

function readColumn(path: string, column: ExportColumn): Details & { readonly values: unknown } {
  if (!isPlainObject(column) || !('values' in column)) return { values: column, validity: undefined, format: undefined }
  const { values, validity, format, metadata } = checkOptions(
    column,
    ['values', 'validity', 'format', 'metadata'],
    path,
  )
  if (metadata !== undefined) checkMetadata(metadata, path)
  if (format !== undefined && typeof format !== 'string') throw wrongType(`format of ${path}`, 'a string', format)
  if (validity !== undefined && !(validity instanceof Tensor && validity.dtype === 'bool'))
    throw wrongType(`validity of ${path}`, 'a tensor of bool', validity)
  return { values, validity, format, metadata }
}

function ofTensor(
  name: string,
  given: Tensor,
  validity: Tensor | undefined,
  format: string | undefined,
  memory: ExportedMemory,
): Exported {
  const path = `column ${JSON.stringify(name)}`
  if ((given.flags & DEVICE_MEMORY) !== 0 || given.device.type !== 1)
    throw new UnsupportedError(`${path} must be on the CPU, got device type ${given.device.type}`, {
      hint: 'Copy the tensor to host memory first.',
    })
  const own = formats[given.dtype]
  if (own === undefined || given.type.strings !== undefined)
    throw new UnsupportedError(`Arrow has no type for ${path}, which is ${given.type}`, {
      hint: 'Convert it to a type of Arrow, such as float32, or view its bytes.',
    })
  const { shape } = given
  if (shape.length === 0)
    throw new ArgumentError(`${path} must have an axis of rows, got a scalar`, { hint: 'Reshape it to [1].' })
  checkFormat(format, given.dtype, path)
  const tensor = given.isContiguous ? given : given.contiguous()
  const isBits = given.dtype === 'bool'
  const address = isBits ? memory.addBytes(bitsOf(tensor)) : memory.addTensor(tensor)
  const count = shape.reduce((product, size) => product * size, 1)
  let made: Exported = {
    field: { name: shape.length === 1 ? name : 'item', format: format ?? own, children: [] },
    node: { length: count, nullCount: 0, buffers: [0, address], children: [] },
  }
  // From the innermost axis on, each one is a list of a fixed size.
  for (let axis = shape.length - 1; axis > 0; axis--) {
    const length = shape.slice(0, axis).reduce((product, size) => product * size, 1)
    made = {
      field: { name: axis === 1 ? name : 'item', format: `+w:${shape[axis]}`, children: [made.field] },
      node: { length, nullCount: 0, buffers: [0], children: [made.node] },
    }
  }
  return { field: made.field, node: withNulls(made.node, validity, path, memory) }
}

/** @throws {ArgumentError} if a format is not one of elements of this type */
function checkFormat(format: string | undefined, dtype: DType, path: string): void {
  if (format === undefined) return
  const layout = parseFormat(format, `the format of ${path}`)
  const expected = layout.kind === 'number' ? layout.dtype : layout.kind
  if (expected !== dtype)
    throw wrongValue(`format of ${path}`, `a format of ${dtype} elements`, `${format}, which has ${expected}`)
}

const bitsOf = (tensor: Tensor): Uint8Array => packBits(tensor.view() as Uint8Array)

/** Adds a bitmap if an element is null. */
function withNulls(node: ExportNode, validity: Tensor | undefined, path: string, memory: ExportedMemory): ExportNode {
  if (validity === undefined) return node
  if (validity.shape.length !== 1 || validity.shape[0] !== node.length)
    throw wrongValue(`validity of ${path}`, `a tensor of shape [${node.length}]`, `[${validity.shape.join(', ')}]`)
  const bits = bitsOf(validity.isContiguous ? validity : validity.contiguous())
  const nullCount = countZeros(bits, 0, node.length)
  if (nullCount === 0) return node
  return { ...node, nullCount, buffers: [memory.addBytes(bits), ...node.buffers.slice(1)] }
}

type Strings = NonNullable<ReturnType<typeof arrowOfStrings>>

function ofStrings(
  name: string,
  { offsets, data }: Strings,
  validity: Tensor | undefined,
  format: string | undefined,
  memory: ExportedMemory,
): Exported {
  const path = `column ${JSON.stringify(name)}`
  const isLarge = offsets instanceof BigInt64Array
  const text = isLarge ? 'U' : 'u'
  const [expected, own] = [isLarge ? 'Z' : 'z', format ?? text]
  if (own !== text && own !== expected)
    throw wrongValue(`format of ${path}`, `'${text}' for text or '${expected}' for bytes`, own)
  if (own === text) checkText(offsets, data, path)
  const node = {
    length: offsets.length - 1,
    nullCount: 0,
    buffers: [0, memory.addBytes(offsets), memory.addBytes(data)],
    children: [],
  }
  return { field: { name, format: own, children: [] }, node: withNulls(node, validity, path, memory) }
}

/** @throws {ArgumentError} if a string is not UTF-8, which consumers rely on */
function checkText(offsets: Strings['offsets'], data: Uint8Array, path: string): void {
  const [start, end] = [Number(offsets[0]), Number(offsets.at(-1))]
  let isText = isUtf8(data.subarray(start, end))
  // No string begins within a character.
  for (let i = 0; isText && i < offsets.length; i++) {
    const offset = Number(offsets[i])
    isText = offset >= end || (data[offset]! & 0xc0) !== 0x80
  }
  if (!isText)
    throw new ArgumentError(`${path} must have strings in UTF-8`, {
      hint: "Export bytes with { values, format: 'z' }, or 'Z' for more than 2 GB.",
    })
}
