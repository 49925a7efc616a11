import type { DType } from '@tenon/core'
import { checkOptions, describe, wrongType } from '@tenon/core/internal'
import { decodeDescr, encodeDescr } from './npy-dtype.ts'
import { NpyFormatError } from './npy-format-error.ts'
import { PythonTuple, parsePythonDictionary, type PythonLiteral } from './python-literal.ts'

/** The header of a `.npy` file. */
export interface NpyHeader {
  readonly version: readonly [major: number, minor: number]
  readonly dtype: DType
  /** Whether the most significant byte of an element comes first. */
  readonly bigEndian: boolean
  /** Whether the array is column-major: neighbours in memory differ in the first index. */
  readonly fortranOrder: boolean
  /** The shape; empty for a scalar. */
  readonly shape: readonly number[]
  /** The offset of the first element in bytes. */
  readonly dataOffset: number
}

const magic = Buffer.from('\x93NUMPY', 'latin1')

/** Magic, version (2 bytes), length (2 bytes in version 1.0, else 4). */
export const MAX_PREFIX_BYTES = 12

/** The largest header in bytes. NumPy's own default limit is 10 000 characters. */
const MAX_HEADER_BYTES = 1_048_576

/** The alignment of the elements in bytes, for memory mapping. */
const ALIGNMENT = 64

/** The number of digits that NumPy reserves, so that an array can grow in its file. */
const GROWTH_DIGITS = 21

/**
 * Reads the offset of the elements from the first bytes of a file.
 *
 * @param bytes from the start of the file, {@link MAX_PREFIX_BYTES} or all there are
 * @throws {NpyFormatError} if it is not a `.npy` file of version 1.0, 2.0 or 3.0
 */
export function npyDataOffset(bytes: Uint8Array): number {
  const { textOffset, textSize } = readPrefix(bytes)
  return textOffset + textSize
}

/**
 * Reads the header of a `.npy` file, versions 1.0, 2.0 and 3.0 (NumPy's format description, numpy.lib.format).
 *
 * @param bytes from the start of the file to the end of the header at least
 * @throws {NpyFormatError} if it is not such a file, is truncated, or has an unsupported element type
 * @example
 * const { dtype, shape, dataOffset } = decodeNpyHeader(readFileSync('x.npy'))
 */
export function decodeNpyHeader(bytes: Uint8Array): NpyHeader {
  if (!(bytes instanceof Uint8Array)) throw wrongType('bytes', 'a Uint8Array', bytes)
  const { version, textOffset, textSize } = readPrefix(bytes)
  const dataOffset = textOffset + textSize
  if (bytes.length < dataOffset) {
    throw new NpyFormatError(`the header should end at byte ${dataOffset}, but the file ends at ${bytes.length}`, {
      hint: 'Save or copy the file again, because it is truncated.',
    })
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + textOffset, textSize).toString(
    version[0] >= 3 ? 'utf8' : 'latin1',
  )
  const entries = parsePythonDictionary(text)
  const names = [...entries.keys()].toSorted().join(', ')
  if (names !== 'descr, fortran_order, shape') {
    throw new NpyFormatError(`the header should have the keys descr, fortran_order, shape, but has ${names || 'none'}`)
  }
  const fortranOrder = entries.get('fortran_order')
  if (typeof fortranOrder !== 'boolean') {
    throw new NpyFormatError(`the header's 'fortran_order' should be True or False, but is ${describe(fortranOrder)}`)
  }
  return {
    version,
    ...decodeDescr(entries.get('descr')!),
    fortranOrder,
    shape: decodeShape(entries.get('shape')!),
    dataOffset,
  }
}

function readPrefix(bytes: Uint8Array): { version: readonly [number, number]; textOffset: number; textSize: number } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!buffer.subarray(0, magic.length).equals(magic)) {
    throw new NpyFormatError('the file is not a .npy file: it does not begin with the bytes 93 4e 55 4d 50 59', {
      hint:
        buffer.toString('latin1', 0, 2) === 'PK'
          ? 'Open the archive with readNpz(path).'
          : 'Write one in Python with np.save(path, array).',
    })
  }
  const version = [buffer[6] ?? 0, buffer[7] ?? 0] as const
  if (version[0] < 1 || version[0] > 3 || version[1] !== 0) {
    throw new NpyFormatError(`the version should be 1.0, 2.0 or 3.0, but is ${version.join('.')}`)
  }
  const textOffset = version[0] === 1 ? 10 : 12
  if (buffer.length < textOffset) {
    throw new NpyFormatError(`the file ends after ${buffer.length} bytes, within its header`, {
      hint: 'Save or copy the file again, because it is truncated.',
    })
  }
  const textSize = version[0] === 1 ? buffer.readUInt16LE(8) : buffer.readUInt32LE(8)
  if (textSize > MAX_HEADER_BYTES) {
    throw new NpyFormatError(`the header has ${textSize} bytes, more than the limit of ${MAX_HEADER_BYTES}`)
  }
  return { version, textOffset, textSize }
}

function decodeShape(literal: PythonLiteral): number[] {
  if (!(literal instanceof PythonTuple)) {
    throw new NpyFormatError(`the header's 'shape' should be a tuple of integers, but is ${describe(literal)}`)
  }
  const shape = literal.items.map((item, axis) => {
    if (typeof item === 'number' && Number.isSafeInteger(item)) return item
    throw new NpyFormatError(`axis ${axis} of the shape should be an integer below 2^53, but is ${describe(item)}`)
  })
  if (shape.reduce((product, size) => product * size, 1) > Number.MAX_SAFE_INTEGER) {
    throw new NpyFormatError(`the shape (${shape.join(', ')}) has 2^53 elements or more`)
  }
  return shape
}

/**
 * Encodes the header of a little-endian array, byte for byte as NumPy does: version 1.0, or 2.0 if it has more than 65 535 bytes.
 *
 * @param options.fortranOrder whether the elements are column-major. Default: false.
 * @throws {ArgumentError} if NumPy lacks the element type
 */
export function encodeNpyHeader(
  dtype: DType,
  shape: readonly number[],
  options?: { readonly fortranOrder?: boolean },
): Uint8Array {
  if (!Array.isArray(shape)) throw wrongType('shape', 'an array of numbers', shape)
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`
  const { fortranOrder = false } = checkOptions(options, ['fortranOrder'])
  // An array can grow along the axis whose neighbours lie farthest apart.
  const growing = fortranOrder ? shape.at(-1) : shape[0]
  const growth = growing === undefined ? 0 : GROWTH_DIGITS - String(growing).length
  const order = fortranOrder ? 'True' : 'False'
  const text = `{'descr': '${encodeDescr(dtype)}', 'fortran_order': ${order}, 'shape': ${tuple}, }${' '.repeat(growth)}`
  const sizeWith = (prefix: number): number => Math.ceil((prefix + text.length + 1) / ALIGNMENT) * ALIGNMENT
  const major = sizeWith(10) - 10 <= 0xffff ? 1 : 2
  const prefix = major === 1 ? 10 : 12
  const header = Buffer.alloc(sizeWith(prefix), ' ', 'latin1')
  magic.copy(header)
  header.set([major, 0], magic.length)
  if (major === 1) header.writeUInt16LE(header.length - prefix, 8)
  else header.writeUInt32LE(header.length - prefix, 8)
  header.write(text, prefix, 'latin1')
  header.write('\n', header.length - 1, 'latin1')
  return header
}
