import type { Resolved } from '../../src/native/call/store.ts'
import type { Random } from './random.ts'
import { type CType, isStruct, type ScalarType, scalarsOf, sizeOf } from './types.ts'

const edges = [0x00, 0xff, 0x7f, 0x80]

/** Any bytes, with pointers that point nowhere and with payloads of NaNs. */
function anyScalar(type: ScalarType, random: Random): Uint8Array {
  if (type === 'bool') return Uint8Array.of(random.below(2))
  const bytes = random.bytes(sizeOf(type))
  if (random.chance(0.1)) bytes.fill(random.pick(edges))
  if (type === 'float32' && random.chance(0.2)) bytes.set([bytes[2]! | 0x80, bytes[3]! | 0x7f], 2)
  if (type === 'float64' && random.chance(0.2)) bytes.set([bytes[6]! | 0xf0, bytes[7]! | 0x7f], 6)
  return bytes
}

/** The bytes of a value of a type. Its padding is random too. */
export function randomValue(type: CType, random: Random): Uint8Array {
  const bytes = random.bytes(sizeOf(type))
  for (const scalar of scalarsOf(type)) bytes.set(anyScalar(scalar.type, random), scalar.offset)
  // A NaN that is not inside of a struct is quiet, because gcc moves some floats through the x87 unit, which makes it so.
  if (type === 'float32' && (bytes[3]! & 0x7f) === 0x7f) bytes[2]! |= 0xc0
  if (type === 'float64' && (bytes[7]! & 0x7f) === 0x7f) bytes[6]! |= 0xf8
  return bytes
}

/**
 * The bytes of a value that TypeScript can pass. Structs have any bytes, but numbers of JavaScript do not keep the payload of
 * a NaN, and addresses are below 2^53.
 */
export function randomArgument(type: CType, random: Random): Uint8Array {
  const bytes = randomValue(type, random)
  if (type === 'float32') bytes[3]! &= 0xbf
  if (type === 'float64') bytes[7]! &= 0xbf
  if (type === 'pointer') bytes.fill(0, 6)
  return bytes
}

/** The JavaScript value that a call stores for an argument. A pointer is an address. */
export function resolvedOf(type: CType, bytes: Uint8Array): Resolved {
  if (isStruct(type)) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  switch (type) {
    case 'bool':
      return bytes[0] === 1
    case 'int8':
      return view.getInt8(0)
    case 'uint8':
      return view.getUint8(0)
    case 'int16':
      return view.getInt16(0, true)
    case 'uint16':
      return view.getUint16(0, true)
    case 'int32':
      return view.getInt32(0, true)
    case 'uint32':
      return view.getUint32(0, true)
    case 'int64':
      return view.getBigInt64(0, true)
    case 'uint64':
      return view.getBigUint64(0, true)
    case 'float32':
      return view.getFloat32(0, true)
    case 'float64':
      return view.getFloat64(0, true)
    case 'pointer':
      return Number(view.getBigUint64(0, true))
  }
}

/** The bytes of all scalars of a value, without the padding. This is what generated functions write and read. */
export function packedBytes(type: CType, value: Uint8Array): Uint8Array {
  const parts = scalarsOf(type).map(({ type: scalar, offset }) => value.subarray(offset, offset + sizeOf(scalar)))
  return Buffer.concat(parts)
}

/** Divides the log of a callee into its arguments, each without padding. */
export function splitLog(log: Uint8Array, types: readonly CType[]): Uint8Array[] {
  let offset = 0
  return types.map((type) => {
    const size = scalarsOf(type).reduce((sum, scalar) => sum + sizeOf(scalar.type), 0)
    return log.subarray(offset, (offset += size))
  })
}

/** Compares arguments with what was received, which has no padding. */
export function compareAll(
  types: readonly CType[],
  values: readonly Uint8Array[],
  received: readonly Uint8Array[],
): string[] {
  return types.flatMap((type, i) => compare(`argument ${i + 1}`, packedBytes(type, values[i]!), received[i]!))
}

export function compare(what: string, expected: Uint8Array, received: Uint8Array): string[] {
  if (Buffer.compare(expected, received) === 0) return []
  return [`${what} must be ${Buffer.from(expected).toString('hex')}, got ${Buffer.from(received).toString('hex')}`]
}

/** The bytes of a JavaScript value of a scalar type. */
export function bytesOfScalar(type: ScalarType, value: number | bigint | boolean): Uint8Array {
  const bytes = new Uint8Array(8)
  const view = new DataView(bytes.buffer)
  if (type === 'float32') view.setFloat32(0, value as number, true)
  else if (type === 'float64') view.setFloat64(0, value as number, true)
  else view.setBigInt64(0, BigInt(value), true)
  return bytes.subarray(0, sizeOf(type))
}
