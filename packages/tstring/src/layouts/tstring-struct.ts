import { ArgumentError, BoundsError, type ArgumentRangeError } from '@tenon/core'
import { checkOptions, describe, wrongValue } from '@tenon/core/internal'
import { argumentError, checkOneOf } from '../errors/arguments.ts'
import { abiInfo, type Abi, type AbiInfo } from './abi.ts'
import { OFFSET_STRING_MAXIMUM, smallCapacity, structLayouts, structSize, TYPE, type StructLayout } from './layout.ts'
import { packWord, sizeOfWord, typeOfWord, wordSizeMaximum } from './struct-words.ts'

/** The fields of one string's struct, for each type. Pointers are numbers of any machine. */
export type StructFields =
  | { readonly type: 'small'; readonly bytes: Uint8Array }
  | { readonly type: 'large'; readonly size: bigint; readonly capacity?: bigint; readonly pointer: bigint }
  | { readonly type: 'offset'; readonly size: number; readonly offset: number; readonly count: number }
  | { readonly type: 'view'; readonly size: bigint; readonly pointer: bigint; readonly owner: bigint }
  | { readonly type: 'prealloc'; readonly size: number; readonly capacity: number; readonly pointer: bigint }

/** The layout and ABI of a struct. */
export interface StructOptions {
  readonly layout: StructLayout
  readonly abi: Abi
}

/**
 * Encodes one struct. Pointers are not followed.
 *
 * `tf` is TF_TString of TensorFlow's C API (ctstring_internal.h). The README lists the choices where the RFC is open.
 *
 * @throws {ArgumentRangeError} if a size would reach into the type bits, or a number does not fit into its field.
 * @throws {ArgumentError} if the layout has no struct of this type, or an option is not valid.
 * @example
 * encodeStruct({ type: 'offset', size: 5, offset: 24, count: 1 }, { layout: 'tf', abi: 'be64' })
 */
export function encodeStruct(fields: StructFields, options: StructOptions): Uint8Array {
  const { layout, abi, littleEndian, wordSize } = structInfo(options)
  const bytes = new Uint8Array(structSize(layout))
  const view = new DataView(bytes.buffer)
  const word = (index: number, value: bigint, name: string): void => {
    checkWord(value, (1n << BigInt(8 * wordSize)) - 1n, name)
    if (wordSize === 8) view.setBigUint64(8 * index, value, littleEndian)
    else view.setUint32(4 * index, Number(value), littleEndian)
  }
  const sizeWord = (size: bigint, type: number): void => {
    checkWord(size, wordSizeMaximum(abi), `the size of a string on ${abi}`)
    const packed = packWord(abi, size, type)
    if (typeOfWord(abi, packed) !== type) throw typeBitError(abi, size)
    word(0, packed, 'size')
  }
  const u32 = (at: number, value: number, name: string, isLittle: boolean): void => {
    check(value, 2n ** 32n - 1n, name)
    view.setUint32(at, value, isLittle)
  }
  switch (fields.type) {
    case 'small':
      checkBytes(fields.bytes)
      check(fields.bytes.length, BigInt(smallCapacity(layout)), 'the size of a SMALL')
      bytes[0] = fields.bytes.length << 2
      bytes.set(fields.bytes, 1)
      return bytes
    case 'offset':
      check(fields.size, BigInt(OFFSET_STRING_MAXIMUM), 'the size of an OFFSET')
      u32(0, fields.size * 4 + TYPE.OFFSET, 'size', true)
      u32(4, fields.offset, 'offset', true)
      u32(8, fields.count, 'count', true)
      return bytes
    case 'large':
      sizeWord(fields.size, TYPE.LARGE)
      if (layout === 'rfc16') word(1, fields.pointer, 'pointer')
      else {
        word(1, fields.capacity ?? fields.size, 'capacity')
        word(2, fields.pointer, 'pointer')
      }
      return bytes
    case 'view':
      if (layout !== 'tf') break
      sizeWord(fields.size, TYPE.VIEW)
      word(1, fields.pointer, 'pointer')
      word(2, fields.owner, 'owner')
      return bytes
    case 'prealloc': {
      if (layout === 'tf') break
      const narrow: Abi = littleEndian ? 'le32' : 'be32'
      check(fields.size, wordSizeMaximum(narrow), 'the size of a PREALLOC')
      u32(0, Number(packWord(narrow, BigInt(fields.size), TYPE.PREALLOC)), 'size', littleEndian)
      u32(4, fields.capacity, 'capacity', littleEndian)
      word(8 / wordSize, fields.pointer, 'pointer')
      return bytes
    }
  }
  throw new ArgumentError(`the layout ${layout} has no type ${describe(fields.type)}`)
}

/**
 * Decodes one struct. Pointers are not followed.
 *
 * @throws {BoundsError} if `bytes` is shorter than a struct.
 * @throws {ArgumentRangeError} if the size of a SMALL is larger than the struct.
 * @example
 * decodeStruct(new Uint8Array(24), { layout: 'tf', abi: 'le64' }) // { type: 'small', bytes: new Uint8Array(0) }
 */
export function decodeStruct(bytes: Uint8Array, options: StructOptions): StructFields {
  const { layout, abi, littleEndian, wordSize } = structInfo(options)
  checkBytes(bytes)
  const stride = structSize(layout)
  if (bytes.length < stride) {
    throw new BoundsError(`bytes must have the ${stride} bytes of a struct, got ${bytes.length}`, {
      details: { name: 'bytes', expected: stride, received: bytes.length },
    })
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, stride)
  const word = (index: number): bigint =>
    wordSize === 8 ? view.getBigUint64(8 * index, littleEndian) : BigInt(view.getUint32(4 * index, littleEndian))
  switch (bytes[0]! & 3) {
    case TYPE.SMALL: {
      const size = bytes[0]! >> 2
      check(size, BigInt(smallCapacity(layout)), 'the size of a SMALL')
      return { type: 'small', bytes: bytes.slice(1, 1 + size) }
    }
    case TYPE.OFFSET:
      return {
        type: 'offset',
        size: view.getUint32(0, true) >>> 2,
        offset: view.getUint32(4, true),
        count: view.getUint32(8, true),
      }
    case TYPE.LARGE: {
      const size = sizeOfWord(abi, word(0))
      if (layout === 'rfc16') return { type: 'large', size, pointer: word(1) }
      return { type: 'large', size, capacity: word(1), pointer: word(2) }
    }
    default: {
      if (layout === 'tf') return { type: 'view', size: sizeOfWord(abi, word(0)), pointer: word(1), owner: word(2) }
      const size = Number(sizeOfWord(littleEndian ? 'le32' : 'be32', BigInt(view.getUint32(0, littleEndian))))
      return { type: 'prealloc', size, capacity: view.getUint32(4, littleEndian), pointer: word(8 / wordSize) }
    }
  }
}

/** The error of a LARGE whose size would turn it into a VIEW. */
function typeBitError(abi: Abi, size: bigint): ArgumentRangeError {
  const bit = 8 * abiInfo(abi).wordSize - 9
  return wrongValue(`the size of a LARGE on ${abi}`, `a number whose bit ${bit} is 0`, size)
}

function structInfo(options: StructOptions): StructOptions & AbiInfo {
  const { layout, abi } = checkOptions(options, ['layout', 'abi'])
  return { layout: checkOneOf(layout, structLayouts, 'layout'), abi: abi!, ...abiInfo(abi!) }
}

function checkBytes(bytes: unknown): void {
  if (!(bytes instanceof Uint8Array)) throw argumentError('bytes', 'a Uint8Array', bytes)
}

function checkWord(value: bigint, maximum: bigint, name: string): void {
  if (typeof value !== 'bigint') throw argumentError(name, 'a bigint', value)
  check(value, maximum, name)
}

function check(value: bigint | number, maximum: bigint, name: string): void {
  const isWhole = typeof value === 'bigint' || Number.isInteger(value)
  if (isWhole && value >= 0 && value <= maximum) return
  const expected = `a whole number from 0 to ${maximum}`
  throw wrongValue(name, expected, value)
}
