import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { dtypeInfo, type DTypeInfo, type DType } from './dtype.ts'
import type { Element } from './element-types.ts'
import { decodeMiniFloat, encodeMiniFloat, isMiniFloat } from './minifloat.ts'

/** Reads and writes elements of one type, little-endian, each in at least one byte of its own. */
export interface ElementCodec {
  /** The size of one element in bytes when each has bytes of its own. */
  readonly byteSize: number
  read(view: DataView, byteOffset: number): Element
  /** @throws {ArgumentError | ArgumentRangeError} if the value cannot be an element of the type. */
  write(view: DataView, byteOffset: number, value: unknown): void
}

const codecs = new Map<DType, ElementCodec>()

export function elementCodec(dtype: DType): ElementCodec {
  let codec = codecs.get(dtype)
  if (codec === undefined) {
    codec = makeCodec(dtypeInfo(dtype))
    codecs.set(dtype, codec)
  }
  return codec
}

function makeCodec(info: DTypeInfo): ElementCodec {
  const { name, kind, bits } = info
  if (isMiniFloat(name)) {
    const byteSize = bits === 16 ? 2 : 1
    return {
      byteSize,
      read: (view, at) => decodeMiniFloat(name, load(view, at, byteSize) & ((1 << bits) - 1)),
      write: (view, at, value) => store(view, at, byteSize, encodeMiniFloat(name, checkNumber(value, name))),
    }
  }
  if (kind === 'bool') return boolCodec
  if (kind === 'complex') return complexCodec(floatCodecs[(bits / 2) as 32 | 64])
  if (kind === 'float') return floatCodecs[bits as 32 | 64]
  return bits === 64 ? wideCodec(info) : integerCodec(info)
}

const boolCodec: ElementCodec = {
  byteSize: 1,
  read: (view, at) => view.getUint8(at) !== 0,
  write(view, at, value) {
    if (typeof value !== 'boolean' && value !== 0 && value !== 1) {
      throw wrongType('an element of bool', 'true or false', value)
    }
    view.setUint8(at, Number(value))
  },
}

const floatCodecs: Readonly<Record<32 | 64, ElementCodec>> = {
  32: {
    byteSize: 4,
    read: (view, at) => view.getFloat32(at, true),
    write: (view, at, value) => view.setFloat32(at, checkNumber(value, 'float32'), true),
  },
  64: {
    byteSize: 8,
    read: (view, at) => view.getFloat64(at, true),
    // oxlint-disable-next-line no-restricted-properties -- a value, not an address
    write: (view, at, value) => view.setFloat64(at, checkNumber(value, 'float64'), true),
  },
}

function complexCodec(part: ElementCodec): ElementCodec {
  return {
    byteSize: 2 * part.byteSize,
    read: (view, at) => [part.read(view, at) as number, part.read(view, at + part.byteSize) as number],
    write(view, at, value) {
      const parts: unknown[] = Array.isArray(value) ? value : [value, 0]
      if (parts.length !== 2) throw wrongType('a complex element', 'a number or [real, imaginary]', value)
      part.write(view, at, parts[0])
      part.write(view, at + part.byteSize, parts[1])
    },
  }
}

/** Integers of up to 32 bits. Those narrower than a byte use the low bits of a byte of their own. */
function integerCodec({ name, kind, bits }: DTypeInfo): ElementCodec {
  const signed = kind === 'int'
  const low = signed ? -(2 ** (bits - 1)) : 0
  const high = low + 2 ** bits - 1
  const byteSize = Math.max(bits / 8, 1)
  const shift = 32 - bits
  return {
    byteSize,
    read(view, at) {
      const shifted = load(view, at, byteSize) << shift
      return signed ? shifted >> shift : shifted >>> shift
    },
    write(view, at, value) {
      const number = typeof value === 'bigint' ? Number(value) : checkNumber(value, name)
      if (!Number.isInteger(number) || number < low || number > high) {
        throw wrongValue(`an element of ${name}`, `a whole number from ${low} to ${high}`, value)
      }
      store(view, at, byteSize, bits < 8 ? number & ((1 << bits) - 1) : number)
    },
  }
}

function load(view: DataView, at: number, byteSize: number): number {
  return byteSize === 1 ? view.getUint8(at) : byteSize === 2 ? view.getUint16(at, true) : view.getUint32(at, true)
}

function store(view: DataView, at: number, byteSize: number, code: number): void {
  if (byteSize === 1) view.setUint8(at, code)
  else if (byteSize === 2) view.setUint16(at, code, true)
  else view.setUint32(at, code, true)
}

function wideCodec({ name, kind }: DTypeInfo): ElementCodec {
  const low = kind === 'int' ? -(2n ** 63n) : 0n
  const high = low + 2n ** 64n - 1n
  return {
    byteSize: 8,
    read: (view, at) => (kind === 'int' ? view.getBigInt64(at, true) : view.getBigUint64(at, true)),
    write(view, at, value) {
      const exact =
        typeof value === 'bigint' ? value : Number.isSafeInteger(value) ? BigInt(value as number) : undefined
      if (exact === undefined || exact < low || exact > high) {
        throw wrongValue(`an element of ${name}`, `a bigint or a safe whole number from ${low} to ${high}`, value)
      }
      view.setBigUint64(at, BigInt.asUintN(64, exact), true)
    },
  }
}

function checkNumber(value: unknown, dtype: string): number {
  if (typeof value === 'number') return value
  throw wrongType(`an element of ${dtype}`, 'a number', value)
}
