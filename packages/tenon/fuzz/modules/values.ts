import type { Random } from '../../../core/fuzz/calls/random.ts'
import { type CType, type ScalarType, scalarsOf, sizeOf } from '../../../core/fuzz/calls/types.ts'

/** The bytes of a value of a type, without NaNs, whose payloads numbers of JavaScript do not keep. Padding is zero. */
export function randomBytes(type: CType, random: Random): Uint8Array {
  const bytes = new Uint8Array(sizeOf(type))
  const view = new DataView(bytes.buffer)
  for (const { type: scalar, offset } of scalarsOf(type)) writeScalar(view, offset, scalar, random)
  return bytes
}

const EDGES = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 0x80n, 0x8000n, 0x8000_0000n, 0x7fff_ffffn]
const REALS = [0, -0, 1.5, -1e30, 1e-30, Infinity, -Infinity]

function writeScalar(view: DataView, offset: number, type: ScalarType, random: Random): void {
  const bits = (BigInt(random.uint32()) << 32n) | BigInt(random.uint32())
  const word = random.chance(0.2) ? BigInt.asUintN(64, random.pick(EDGES)) : bits
  const real = random.chance(0.2) ? random.pick(REALS) : (Number(BigInt.asIntN(64, bits)) / 2 ** 40) * random.below(9)
  if (type === 'bool') view.setUint8(offset, random.below(2))
  else if (type === 'float32') view.setFloat32(offset, real, true)
  else if (type === 'float64') view.setFloat64(offset, real, true)
  else if (type === 'pointer') view.setBigUint64(offset, BigInt.asUintN(47, word), true)
  else {
    const size = sizeOf(type)
    for (let i = 0; i < size; i++) view.setUint8(offset + i, Number((word >> BigInt(8 * i)) & 255n))
  }
}

/** A scalar of some bytes. Integers, truth values and addresses are bigints. */
export function scalarAt(bytes: Uint8Array, offset: number, type: ScalarType): number | bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (type) {
    case 'float32':
      return view.getFloat32(offset, true)
    case 'float64':
      return view.getFloat64(offset, true)
    case 'bool':
    case 'uint8':
      return BigInt(view.getUint8(offset))
    case 'int8':
      return BigInt(view.getInt8(offset))
    case 'int16':
      return BigInt(view.getInt16(offset, true))
    case 'uint16':
      return BigInt(view.getUint16(offset, true))
    case 'int32':
      return BigInt(view.getInt32(offset, true))
    case 'uint32':
      return BigInt(view.getUint32(offset, true))
    case 'int64':
      return view.getBigInt64(offset, true)
    case 'uint64':
    case 'pointer':
      return view.getBigUint64(offset, true)
  }
}

const MASK = 2n ** 64n - 1n

/** The hash that a function of the library computes of everything that it gets: of words of 64 bits, in order. */
export class Hash {
  value = 14_695_981_039_346_656_037n

  word(word: bigint): void {
    const next = ((this.value ^ (word & MASK)) * 1_099_511_628_211n) & MASK
    this.value = next ^ (next >> 29n)
  }

  /** Every scalar of a value, a real number as a double. */
  bytes(type: CType, bytes: Uint8Array): void {
    for (const { type: scalar, offset } of scalarsOf(type)) {
      const value = scalarAt(bytes, offset, scalar)
      this.word(typeof value === 'bigint' ? value : new BigUint64Array(Float64Array.of(value).buffer)[0]!)
    }
  }

  text(text: string | null): void {
    if (text === null) this.word(0xdeadn)
    else for (const byte of new TextEncoder().encode(text)) this.word(BigInt(byte))
    this.word(1n)
  }
}
