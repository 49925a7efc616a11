import { ArgumentError, dtypeInfo, dtypes, Tensor, tensorType, TensorType } from '@tenon/core'
import { hex, layoutText, withLayout, wrongType } from '@tenon/core/internal'
import type { OperandShape } from './call-shape.ts'
import { typeInLayout } from './layouts.ts'
import { token } from './leaf.ts'
import { type ProtoField, ProtoWriter, readFields, readNumbers } from './proto-bytes.ts'

/* The numbers of fields and types of xla_data.proto of OpenXLA. */
const SHAPE = { elementType: 2, dimensions: 3, tupleShapes: 4, layout: 5, isDynamic: 6 } as const
const LAYOUT = { minorToMajor: 1, tailPadding: 16 } as const
/** The fields of a layout that a tensor of Tenon does not have. Memory spaces and the types of sparse indices do not change its bytes. */
const OTHER_LAYOUTS: Readonly<Record<number, string>> = {
  6: 'tiles',
  7: 'element_size_in_bits',
  9: 'dim_level_types',
  10: 'physical_shape',
  15: 'dynamic_shape_metadata_prefix_bytes',
  17: 'split_configs',
}
const TUPLE = 13
const TOKEN = 17

/** The tuples in each other at which a shape is refused, because an array can contain itself. */
const DEEPEST = 64

/**
 * Returns the bytes of XLA's message `xla.ShapeProto` for a type, a token or a tuple, which kernels get in `opaque`. The message has the
 * layout of the type.
 *
 * @throws {ArgumentError} if a type cannot be described: elements that are packed, or strides that are not those of a layout.
 * @example
 * using kernels = NativeLibrary.open('./libkernels_runtime.so')
 * const opaque = shapeProto(f32([2, 3]))
 * const call = hostFunction(kernels, 'copy_opaque', { apiVersion: 3 }).prepare({
 *   operands: [],
 *   results: [u8([opaque.length]), s64([])],
 *   opaque,
 * })
 */
export function shapeProto(shape: OperandShape): Uint8Array {
  return writeShape(shape, 'shape', 0)
}

function writeShape(shape: unknown, place: string, depth: number): Uint8Array {
  const writer = new ProtoWriter()
  if (shape === token) return writer.varint(SHAPE.elementType, TOKEN).bytes()
  if (Array.isArray(shape)) {
    if (depth === DEEPEST) throw new ArgumentError(`${place} must be nested at most ${DEEPEST} deep, got more`)
    writer.varint(SHAPE.elementType, TUPLE)
    // A hole is not a type.
    for (let i = 0; i < shape.length; i++)
      writer.message(SHAPE.tupleShapes, writeShape((shape as unknown[])[i], `${place}[${i}]`, depth + 1))
    return writer.bytes()
  }
  const type: unknown = shape instanceof Tensor ? shape.type : shape
  if (!(type instanceof TensorType)) throw wrongType(place, 'the type of a tensor, a token or a tuple', type)
  writer.varint(SHAPE.elementType, dtypeInfo(type.dtype).xla).packed(SHAPE.dimensions, type.shape)
  return writer.message(SHAPE.layout, writeLayout(type, place)).bytes()
}

function writeLayout(type: TensorType, place: string): Uint8Array {
  return new ProtoWriter().packed(LAYOUT.minorToMajor, majorToMinor(type, place).toReversed()).bytes()
}

/** The axes of a type in the order of its memory. @throws {ArgumentError} if the strides are not those of a layout. */
function majorToMinor(type: TensorType, place: string): readonly number[] {
  const axes = type.shape.map((_, axis) => axis)
  const { strides } = type
  const order = strides === undefined ? axes : axes.toSorted((a, b) => strides[b]! - strides[a]! || a - b)
  if (type.packing !== 'packed' && (strides === undefined || withLayout(type, order) === type)) return order
  throw new ArgumentError(
    `${place} must be row-major or in a layout, with a byte for each element, got ${layoutText(type)}`,
    {
      hint: 'Copy the tensor first with contiguous().',
    },
  )
}

/**
 * Reads the bytes of XLA's message `xla.ShapeProto`: the type of a tensor with its layout, a token, or an array for a tuple.
 *
 * @throws {ArgumentError} if the bytes are not such a message, or describe what Tenon does not have: dynamic dimensions, tiles, sparse
 * arrays and opaque values.
 * @example
 * readShapeProto(shapeProto(f32([2, 3]))) === f32([2, 3]) // true
 */
export function readShapeProto(bytes: Uint8Array): OperandShape {
  if (!(bytes instanceof Uint8Array)) throw wrongType('bytes', 'a Uint8Array', bytes)
  // The memory can be shared with other threads, so it is read once.
  return readShape(new Uint8Array(bytes), 'the shape', 0)
}

const typesByCode = new Map(dtypes.map(({ xla, name }) => [xla, name]))

function readShape(bytes: Uint8Array, name: string, depth: number): OperandShape {
  const fields = readFields(bytes, name)
  const code = Number(readNumbers(fields, SHAPE.elementType, name).at(-1) ?? 0n)
  if (code === TOKEN) return token
  if (code === TUPLE) {
    if (depth === DEEPEST) throw new ArgumentError(`${name} must be nested at most ${DEEPEST} deep, got more`)
    const members = fields.flatMap(({ field, value }) => (field === SHAPE.tupleShapes ? [asBytes(value, name)] : []))
    return members.map((member, i) => readShape(member, `${name}[${i}]`, depth + 1))
  }
  const dtype = typesByCode.get(code)
  if (dtype === undefined) throw unknown(name, `an element type of a tensor, got the PrimitiveType ${code}`)
  const dynamic = readNumbers(fields, SHAPE.isDynamic, name).findIndex((value) => value !== 0n)
  if (dynamic !== -1) throw unknown(name, `static dimensions, but dimension ${dynamic} is dynamic`)
  const dimensions = readNumbers(fields, SHAPE.dimensions, name).map((value, axis) => checkDimension(value, axis, name))
  const type = tensorType(dtype, dimensions)
  const layout = fields.filter(({ field }) => field === SHAPE.layout)
  // Parts of one message are its fields one after another.
  const layoutFields = layout.flatMap(({ value }) => readFields(asBytes(value, name), `the layout of ${name}`))
  return layout.length === 0 ? type : inLayout(type, layoutFields, name)
}

function inLayout(type: TensorType, fields: readonly ProtoField[], name: string): TensorType {
  for (const { field, value } of fields) {
    const other = OTHER_LAYOUTS[field]
    if (other !== undefined && value !== 0n) throw unknown(name, `a dense layout without ${other}`)
    if (field === LAYOUT.tailPadding && typeof value === 'bigint' && value > 1n)
      throw unknown(name, 'a layout without padding')
  }
  const order = readNumbers(fields, LAYOUT.minorToMajor, name).map(Number)
  // A layout that is left out is row-major.
  if (order.length === 0) return type
  return typeInLayout(type, order.toReversed(), name)
}

function checkDimension(value: bigint, axis: number, name: string): number {
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value)
  throw unknown(name, `dimensions below 2^53, got ${BigInt.asIntN(64, value)} for dimension ${axis}`)
}

function asBytes(value: bigint | Uint8Array, name: string): Uint8Array {
  if (typeof value !== 'bigint') return value
  throw unknown(name, `messages in its fields, got ${hex(value)}`)
}

function unknown(name: string, expected: string): ArgumentError {
  return new ArgumentError(`${name} must have ${expected}`, { details: { expected } })
}
