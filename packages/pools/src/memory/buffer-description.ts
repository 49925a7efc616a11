import { type PoolsError, refused } from '../error-status.ts'

/** A format of hardware buffers. */
export interface BufferFormatInfo {
  /** The number of the format in `AHardwareBuffer_Format`. */
  readonly number: number
  /** The bytes of a pixel; 0 for a format without rows of pixels. */
  readonly pixelSize: number
}

/** The formats of hardware buffers by Android's names, each a {@link BufferFormatInfo}. */
export const bufferFormats = {
  R8G8B8A8_UNORM: { number: 1, pixelSize: 4 },
  R8G8B8X8_UNORM: { number: 2, pixelSize: 4 },
  R8G8B8_UNORM: { number: 3, pixelSize: 3 },
  R5G6B5_UNORM: { number: 4, pixelSize: 2 },
  R16G16B16A16_FLOAT: { number: 0x16, pixelSize: 8 },
  BLOB: { number: 0x21, pixelSize: 1 },
  Y8Cb8Cr8_420: { number: 0x23, pixelSize: 0 },
  R10G10B10A2_UNORM: { number: 0x2b, pixelSize: 4 },
  D16_UNORM: { number: 0x30, pixelSize: 2 },
  YCbCr_P010: { number: 0x36, pixelSize: 0 },
  R8_UNORM: { number: 0x38, pixelSize: 1 },
  R16_UINT: { number: 0x39, pixelSize: 2 },
  R16G16_UINT: { number: 0x3a, pixelSize: 4 },
} as const

/** The name of a format of hardware buffers. */
export type BufferFormat = keyof typeof bufferFormats

/** The bits of a hardware buffer's usage that its description is checked by (`AHardwareBuffer_UsageFlags`). */
export const bufferUsage = {
  CPU_READ_OFTEN: 0x3n,
  CPU_READ_MASK: 0xfn,
  CPU_WRITE_OFTEN: 0x30n,
  CPU_WRITE_MASK: 0xf0n,
  GPU_SAMPLED: 0x100n,
  GPU_FRAMEBUFFER: 0x200n,
  PROTECTED: 0x4000n,
  VIDEO_ENCODE: 0x1_0000n,
  SENSOR_DIRECT_DATA: 0x80_0000n,
  GPU_DATA_BUFFER: 0x100_0000n,
  CUBE_MAP: 0x200_0000n,
  MIPMAP: 0x400_0000n,
} as const

/** The name of bits of a hardware buffer's usage. */
export type BufferUsage = keyof typeof bufferUsage

/** The description of a hardware buffer: Android's `AHardwareBuffer_Desc`. */
export interface BufferDescription {
  /** The width in pixels, or in bytes for a BLOB. */
  readonly width: number
  readonly height: number
  readonly layers: number
  readonly format: BufferFormat
  /** Bits of {@link bufferUsage}. */
  readonly usage: bigint
  /** The distance from the start of a row to the start of the next, in pixels. */
  readonly stride: number
}

/** The alignment of the rows of images, in bytes. */
const ROW_ALIGNMENT = 64

/** The smallest stride, in pixels, whose rows all start at multiples of 64 bytes. */
export function strideOf(width: number, pixelSize: number): number {
  let step = 1
  while ((step * pixelSize) % ROW_ALIGNMENT !== 0) step++
  return Math.ceil(width / step) * step
}

/** The bytes of a row of pixels, without its padding. */
export function rowSize({ width, format: name }: BufferDescription): number {
  return width * bufferFormats[name].pixelSize
}

export function memorySize({ stride, height, layers, format: name }: BufferDescription): number {
  return stride * bufferFormats[name].pixelSize * height * layers
}

export function isU32(value: unknown): value is number {
  return Number.isInteger(value) && Object.is(value, (value as number) >>> 0)
}

export function checkBufferDescription(description: BufferDescription): void {
  const { width, height, layers, format: name, usage, stride } = description
  for (const field of ['width', 'height', 'layers', 'stride'] as const) {
    const value = description[field]
    if (!isU32(value) || value === 0) throw broken(`${field} must be from 1 to 2^32 - 1, got ${String(value)}`)
  }
  if (!Object.hasOwn(bufferFormats, name)) throw broken(`format must be the name of a format, got ${String(name)}`)
  if (typeof usage !== 'bigint' || usage < 0n || usage >= 2n ** 64n)
    throw broken(`usage must have 64 bits, got ${String(usage)}`)
  if (stride < width) throw broken(`stride must be at least the width ${width}, got ${stride}`)
  const has = (bits: bigint): boolean => (usage & bits) !== 0n
  if (name === 'BLOB') {
    if (height !== 1 || layers !== 1) throw broken(`height and layers of a BLOB must be 1, got ${height} and ${layers}`)
    const { GPU_SAMPLED, GPU_FRAMEBUFFER, MIPMAP, CUBE_MAP, VIDEO_ENCODE } = bufferUsage
    if (has(GPU_SAMPLED | GPU_FRAMEBUFFER | MIPMAP | CUBE_MAP | VIDEO_ENCODE))
      throw broken('usage must not be that of an image for a BLOB')
  } else if (has(bufferUsage.SENSOR_DIRECT_DATA)) throw broken('usage must not be SENSOR_DIRECT_DATA for an image')
  if (bufferFormats[name].pixelSize === 0 && (layers !== 1 || has(bufferUsage.MIPMAP | bufferUsage.CUBE_MAP)))
    throw broken(`a buffer of ${name} must have 1 layer, and must not be a mipmap or cube map`)
  if (has(bufferUsage.PROTECTED) && has(bufferUsage.CPU_READ_MASK | bufferUsage.CPU_WRITE_MASK))
    throw broken('a protected buffer must not be for the CPU')
  if (has(bufferUsage.CUBE_MAP) && (width !== height || layers % 6 !== 0))
    throw broken('a cube map must have square faces, and layers that are a multiple of 6')
}

const broken = (sentence: string): PoolsError => refused('P12', sentence)
