import { type BufferDescription, type BufferFormat, bufferFormats, type PoolsError } from '@tenon/pools'
import { checkBufferDescription, refused } from '@tenon/pools/internal'

/** The size of `AHardwareBuffer_Desc`, in bytes. */
const SIZE = 40

/**
 * Returns the 40 bytes of an `AHardwareBuffer_Desc`: u32 width, height, layers, format; u64 usage; u32 stride, u32 0; u64 0.
 *
 * @throws {PoolsError} P12
 * @example
 * const description = { width: 64, height: 1, layers: 1, format: 'BLOB', usage: 0x33n, stride: 64 }
 * encodeBufferDescription(description).length // 40
 */
export function encodeBufferDescription(description: BufferDescription): Uint8Array<ArrayBuffer> {
  checkBufferDescription(description)
  const { width, height, layers, format: name, usage, stride } = description
  const view = new DataView(new ArrayBuffer(SIZE))
  ;[width, height, layers, bufferFormats[name].number].forEach((value, i) => view.setUint32(i * 4, value, true))
  view.setBigUint64(16, usage, true)
  view.setUint32(24, stride, true)
  return new Uint8Array(view.buffer)
}

type FourNumbers = [number, number, number, number]

const names = new Map(Object.entries(bufferFormats).map(([name, { number }]) => [number as number, name]))

/** Reads an `AHardwareBuffer_Desc`. @throws {PoolsError} P12, also if a reserved field is not 0 */
export function decodeBufferDescription(bytes: Uint8Array): BufferDescription {
  if (bytes.length !== SIZE) throw broken(`a description must have ${SIZE} bytes, got ${bytes.length}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, SIZE)
  const [width, height, layers, number] = [0, 4, 8, 12].map((at) => view.getUint32(at, true)) as FourNumbers
  if (view.getUint32(28, true) !== 0 || view.getBigUint64(32, true) !== 0n) throw broken('reserved fields must be 0')
  const name = names.get(number)
  if (name === undefined) throw broken(`format must be the number of a format, got ${number}`)
  const [usage, stride] = [view.getBigUint64(16, true), view.getUint32(24, true)]
  const description = { width, height, layers, format: name as BufferFormat, usage, stride }
  checkBufferDescription(description)
  return description
}

const broken = (sentence: string): PoolsError => refused('P12', sentence)
