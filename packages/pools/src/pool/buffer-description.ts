import { type PoolsError, refused } from '../error-status.ts'
import { isU32 } from '../model/operand-types.ts'

/** A format of hardware buffers: its number in `AHardwareBuffer_Format`, and the bytes of a pixel; 0 without rows of pixels. */
export interface BufferFormatInfo {
  readonly number: number
  readonly pixelSize: number
}

const format = (number: number, pixelSize: number): BufferFormatInfo => ({ number, pixelSize })

/** The name of a format of hardware buffers, as Android has it. */
export type BufferFormat =
  | 'R8G8B8A8_UNORM'
  | 'R8G8B8X8_UNORM'
  | 'R8G8B8_UNORM'
  | 'R5G6B5_UNORM'
  | 'R16G16B16A16_FLOAT'
  | 'BLOB'
  | 'Y8Cb8Cr8_420'
  | 'R10G10B10A2_UNORM'
  | 'D16_UNORM'
  | 'YCbCr_P010'
  | 'R8_UNORM'
  | 'R16_UINT'
  | 'R16G16_UINT'

/** The formats that are known. */
export const bufferFormats: Readonly<Record<BufferFormat, BufferFormatInfo>> = {
  R8G8B8A8_UNORM: format(1, 4),
  R8G8B8X8_UNORM: format(2, 4),
  R8G8B8_UNORM: format(3, 3),
  R5G6B5_UNORM: format(4, 2),
  R16G16B16A16_FLOAT: format(0x16, 8),
  BLOB: format(0x21, 1),
  Y8Cb8Cr8_420: format(0x23, 0),
  R10G10B10A2_UNORM: format(0x2b, 4),
  D16_UNORM: format(0x30, 2),
  YCbCr_P010: format(0x36, 0),
  R8_UNORM: format(0x38, 1),
  R16_UINT: format(0x39, 2),
  R16G16_UINT: format(0x3a, 4),
}

/** The name of bits of a hardware buffer's usage. */
export type BufferUsage =
  | 'CPU_READ_OFTEN'
  | 'CPU_READ_MASK'
  | 'CPU_WRITE_OFTEN'
  | 'CPU_WRITE_MASK'
  | 'GPU_SAMPLED'
  | 'GPU_FRAMEBUFFER'
  | 'PROTECTED'
  | 'VIDEO_ENCODE'
  | 'SENSOR_DIRECT_DATA'
  | 'GPU_DATA_BUFFER'
  | 'CUBE_MAP'
  | 'MIPMAP'

/** Bits of a hardware buffer's usage that its description is checked by (`AHardwareBuffer_UsageFlags`). */
export const bufferUsage: Readonly<Record<BufferUsage, bigint>> = {
  CPU_READ_OFTEN: 3n,
  CPU_READ_MASK: 0xfn,
  CPU_WRITE_OFTEN: 0x30n,
  CPU_WRITE_MASK: 0xf0n,
  GPU_SAMPLED: 1n << 8n,
  GPU_FRAMEBUFFER: 1n << 9n,
  PROTECTED: 1n << 14n,
  VIDEO_ENCODE: 1n << 16n,
  SENSOR_DIRECT_DATA: 1n << 23n,
  GPU_DATA_BUFFER: 1n << 24n,
  CUBE_MAP: 1n << 25n,
  MIPMAP: 1n << 26n,
}

/** What a hardware buffer is: Android's `AHardwareBuffer_Desc`. */
export interface BufferDescription {
  /** In pixels; of a BLOB in bytes. */
  readonly width: number
  readonly height: number
  readonly layers: number
  readonly format: BufferFormat
  /** Bits of {@link bufferUsage}. */
  readonly usage: bigint
  /** From the start of a row to the next, in pixels. */
  readonly stride: number
}

/** Where rows of images start, in bytes. */
const ROW_ALIGNMENT = 64

/** The smallest stride, in pixels, whose rows all start at multiples of 64 bytes. */
export function strideOf(width: number, pixelSize: number): number {
  let step = 1
  while ((step * pixelSize) % ROW_ALIGNMENT !== 0) step++
  return Math.ceil(width / step) * step
}

/** How many bytes a row of pixels has, without what pads it. */
export function rowSize({ width, format: name }: BufferDescription): number {
  return width * bufferFormats[name].pixelSize
}

/** How many bytes of memory the rows of all layers take. */
export function memorySize({ stride, height, layers, format: name }: BufferDescription): number {
  return stride * bufferFormats[name].pixelSize * height * layers
}

/**
 * Checks a description by rule P12.
 *
 * @throws {PoolsError} `INVALID_ARGUMENT`
 */
export function checkBufferDescription(description: BufferDescription): void {
  const { width, height, layers, format: name, usage, stride } = description
  for (const field of ['width', 'height', 'layers', 'stride'] as const) {
    const value = description[field]
    if (!isU32(value) || value === 0) throw broken(`${field} must be from 1 to 2^32 - 1, got ${String(value)}`)
  }
  if (!Object.hasOwn(bufferFormats, name)) throw broken(`format must be one that is known, got ${String(name)}`)
  if (typeof usage !== 'bigint' || usage < 0n || usage >= 2n ** 64n)
    throw broken(`usage must have 64 bits, got ${String(usage)}`)
  if (stride < width) throw broken(`stride must be at least the width ${width}, got ${stride}`)
  const has = (bits: bigint): boolean => (usage & bits) !== 0n
  if (name === 'BLOB') {
    if (height !== 1 || layers !== 1) throw broken(`height and layers of a BLOB must be 1, got ${height} and ${layers}`)
    const { GPU_SAMPLED, GPU_FRAMEBUFFER, MIPMAP, CUBE_MAP, VIDEO_ENCODE } = bufferUsage
    if (has(GPU_SAMPLED | GPU_FRAMEBUFFER | MIPMAP | CUBE_MAP | VIDEO_ENCODE))
      throw broken('usage of a BLOB must not be that of an image')
  } else if (has(bufferUsage.SENSOR_DIRECT_DATA)) throw broken('only a BLOB can be for data of sensors')
  if (bufferFormats[name].pixelSize === 0 && (layers !== 1 || has(bufferUsage.MIPMAP | bufferUsage.CUBE_MAP)))
    throw broken(`a buffer of ${name} must have 1 layer, and be neither mipmap nor cube map`)
  if (has(bufferUsage.PROTECTED) && has(bufferUsage.CPU_READ_MASK | bufferUsage.CPU_WRITE_MASK))
    throw broken('a protected buffer must not be for the CPU')
  if (has(bufferUsage.CUBE_MAP) && (width !== height || layers % 6 !== 0))
    throw broken('a cube map must have square faces, and layers that are a multiple of 6')
}

/** The size of `AHardwareBuffer_Desc`, in bytes. */
const SIZE = 40

/**
 * The 40 bytes of an `AHardwareBuffer_Desc`: u32 width, height, layers, format; u64 usage; u32 stride, u32 0; u64 0.
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

const names = new Map(Object.entries(bufferFormats).map(([name, { number }]) => [number, name as BufferFormat]))

/**
 * Reads an `AHardwareBuffer_Desc`.
 *
 * @throws {PoolsError} P12, also if the reserved fields are not 0
 */
export function decodeBufferDescription(bytes: Uint8Array): BufferDescription {
  if (bytes.length !== SIZE) throw broken(`a description must have ${SIZE} bytes, got ${bytes.length}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, SIZE)
  const [width, height, layers, number] = [0, 4, 8, 12].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
    number,
  ]
  if (view.getUint32(28, true) !== 0 || view.getBigUint64(32, true) !== 0n) throw broken('reserved fields must be 0')
  const name = names.get(number)
  if (name === undefined) throw broken(`format must be one that is known, got ${number}`)
  const stride = view.getUint32(24, true)
  const description = { width, height, layers, format: name, usage: view.getBigUint64(16, true), stride }
  checkBufferDescription(description)
  return description
}

const broken = (sentence: string): PoolsError => refused('P12', sentence)
