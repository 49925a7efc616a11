/** Small libraries made byte by byte from the format descriptions, for processors and systems that aren't here. */

/** A buffer that fields are written into at offsets, in either byte order. */
class Image {
  readonly bytes: Buffer
  readonly #littleEndian: boolean

  constructor(byteSize: number, littleEndian: boolean) {
    this.bytes = Buffer.alloc(byteSize)
    this.#littleEndian = littleEndian
  }

  u8(offset: number, ...values: number[]): this {
    values.forEach((value, index) => this.bytes.writeUInt8(value, offset + index))
    return this
  }

  u16(offset: number, ...values: number[]): this {
    values.forEach((value, index) => this.#view.setUint16(offset + 2 * index, value, this.#littleEndian))
    return this
  }

  u32(offset: number, ...values: number[]): this {
    values.forEach((value, index) => this.#view.setUint32(offset + 4 * index, value, this.#littleEndian))
    return this
  }

  u64(offset: number, ...values: number[]): this {
    values.forEach((value, index) => this.#view.setBigUint64(offset + 8 * index, BigInt(value), this.#littleEndian))
    return this
  }

  text(offset: number, text: string): this {
    this.bytes.write(text, offset, 'latin1')
    return this
  }

  get #view(): DataView {
    return new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength)
  }
}

export interface ElfOptions {
  readonly bits: 32 | 64
  readonly littleEndian: boolean
  readonly machine: number
}

/** Names of the ELF image, by their offset in its string table. */
const elfNames = '\0libneeded.so.1\0libself.so\0$ORIGIN/../lib:/opt/lib\0answer\0table\0puts\0hidden\0'
const nameOf = (name: string): number => elfNames.indexOf(`\0${name}\0`) + 1

/**
 * An ELF shared library without section headers: exports `answer` (a function at 0x40, 12 bytes) and `table` (a weak
 * object), imports `puts`, hides `hidden`; needs libneeded.so.1, is called libself.so, has a RUNPATH.
 */
export function elfImage({ bits, littleEndian, machine }: ElfOptions): Buffer {
  const image = new Image(0x600, littleEndian)
  const wide = bits === 64
  const word = (offset: number, ...values: number[]): Image =>
    wide ? image.u64(offset, ...values) : image.u32(offset, ...values)
  image.u8(0, 0x7f, 0x45, 0x4c, 0x46, wide ? 2 : 1, littleEndian ? 1 : 2, 1)
  image.u16(16, 3, machine).u32(20, 1)
  word(wide ? 32 : 28, 0x100)
  image.u16(wide ? 54 : 42, wide ? 56 : 32, 2)
  const segment = (at: number, type: number, offset: number, size: number): void => {
    image.u32(at, type)
    if (wide) image.u64(at + 8, offset, offset, offset, size, size)
    else image.u32(at + 4, offset, offset, offset, size, size)
  }
  const dynamicSize = 10 * 2 * (bits / 8)
  segment(0x100, 1, 0, 0x600)
  segment(0x100 + (wide ? 56 : 32), 2, 0x200, dynamicSize)
  const symbolSize = wide ? 24 : 16
  word(
    0x200,
    ...[1, nameOf('libneeded.so.1')],
    ...[14, nameOf('libself.so')],
    ...[29, nameOf('$ORIGIN/../lib:/opt/lib')],
  )
  word(
    0x200 + 6 * (bits / 8),
    ...[4, 0x500],
    ...[5, 0x400],
    ...[6, 0x300],
    ...[10, elfNames.length],
    ...[11, symbolSize],
  )
  const symbol = (
    index: number,
    name: string,
    info: number,
    other: number,
    section: number,
    value: number,
    size: number,
  ): void => {
    const at = 0x300 + index * symbolSize
    image.u32(at, nameOf(name))
    if (wide)
      image
        .u8(at + 4, info, other)
        .u16(at + 6, section)
        .u64(at + 8, value, size)
    else
      image
        .u32(at + 4, value, size)
        .u8(at + 12, info, other)
        .u16(at + 14, section)
  }
  symbol(1, 'puts', 0x12, 0, 0, 0, 0)
  symbol(2, 'answer', 0x12, 0, 1, 0x40, 12)
  symbol(3, 'table', 0x21, 0, 2, 0x80, 64)
  symbol(4, 'hidden', 0x12, 2, 1, 0x60, 4)
  image.text(0x400, elfNames)
  return image.u32(0x500, 1, 5).bytes
}

/** A thin arm64 dylib: exports `answer`, imports `puts` from libSystem, needs an @rpath library, has an LC_RPATH. */
export function machOImage(cpuType = 0x100000c): Buffer {
  const image = new Image(0x400, true)
  image.u32(0, 0xfeedfacf, cpuType, 0, 6, 8, 0x148, 0, 0)
  let at = 32
  const command = (type: number, size: number): number => {
    image.u32(at, type, size)
    at += size
    return at - size
  }
  const dylib = (type: number, name: string, size: number): void => {
    const start = command(type, size)
    image.u32(start + 8, 24).text(start + 24, `${name}\0`)
  }
  const segment = command(0x19, 152)
  image
    .text(segment + 8, '__TEXT')
    .u32(segment + 64, 1)
    .text(segment + 72, '__text')
  image.u32(segment + 72 + 64, 0x80000400)
  dylib(0xd, '@rpath/libself.dylib', 48)
  dylib(0xc, '/usr/lib/libSystem.B.dylib', 56)
  dylib(0x80000018, '/opt/libweak.dylib', 48)
  const rpath = command(0x8000001c, 32)
  image.u32(rpath + 8, 12).text(rpath + 12, '@loader_path/lib\0')
  const symtab = command(0x2, 24)
  // For macOS 11.3, built with the SDK of 14.0.
  image.u32(command(0x32, 24) + 8, 1, 0x000b0300, 0x000e0000, 0)
  image.u32(command(0x1d, 16) + 8, 0x3f0, 16)
  const names = '\0_answer\0_puts\0_local\0'
  image.u32(symtab + 8, 0x300, 3, 0x380, names.length)
  image.u32(0x300, 1).u8(0x304, 0x0f, 1).u16(0x306, 0x80).u64(0x308, 0x3f40)
  image.u32(0x310, 9).u8(0x314, 0x01, 0).u16(0x316, 0x0100)
  image.u32(0x320, 15).u8(0x324, 0x24, 1)
  return image.text(0x380, names).u32(20, at - 32).bytes
}

/** A file of several architectures, holding the given thin images. */
export function fatImage(parts: readonly { readonly cpuType: number; readonly bytes: Buffer }[]): Buffer {
  const image = new Image(0x1000 * (parts.length + 1), false).u32(0, 0xcafebabe, parts.length)
  parts.forEach(({ cpuType, bytes }, index) => {
    const offset = 0x1000 * (index + 1)
    image.u32(8 + 20 * index, cpuType, 0, offset, bytes.length, 12)
    bytes.copy(image.bytes, offset)
  })
  return image.bytes
}

/**
 * A DLL with one section at RVA 0x1000 (file offset 0x400): exports `answer` (code) and `forwarded`, imports `puts` and
 * number 7 from ucrtbase.dll, and `later` at first use from delayed.dll.
 */
export function peImage(bits: 32 | 64 = 64): Buffer {
  const image = new Image(0x800, true)
  const wide = bits === 64
  const rva = (offset: number): number => offset - 0x400 + 0x1000
  const optionalSize = (wide ? 112 : 96) + 16 * 8
  image.text(0, 'MZ').u32(60, 0x80).text(0x80, 'PE\0\0')
  image.u16(0x84, wide ? 0x8664 : 0x14c, 1).u16(0x94, optionalSize, 0x2022)
  image.u16(0x98, wide ? 0x20b : 0x10b).u32(0x98 + 60, 0x400)
  const directories = 0x98 + (wide ? 112 : 96)
  image
    .u32(directories - 4, 16)
    .u32(directories, rva(0x400), 0x100)
    .u32(directories + 8, rva(0x500), 40)
  image.u32(directories + 13 * 8, rva(0x600), 64)
  const section = 0x98 + optionalSize
  image
    .text(section, '.text')
    .u32(section + 8, 0x400, 0x1000, 0x400, 0x400)
    .u32(section + 36, 0x60000020)
  image.u32(0x400 + 12, rva(0x480), 1, 2, 2, rva(0x430), rva(0x440), rva(0x448))
  image.u32(0x430, rva(0x700), rva(0x4a0)).u32(0x440, rva(0x490), rva(0x498)).u16(0x448, 0, 1)
  image.text(0x480, 'self.dll\0').text(0x490, 'answer\0').text(0x498, 'forward\0').text(0x4a0, 'OTHER.fn\0')
  image.u32(0x500, rva(0x540), 0, 0, rva(0x560), rva(0x580))
  const list = (at: number, name: number): void => {
    if (wide) image.u64(at, name).u64(at + 8, 0)
    else image.u32(at, name, 0)
  }
  list(0x540, rva(0x570))
  if (wide) image.u32(0x548, 7, 0x80000000)
  else image.u32(0x544, 0x80000007, 0)
  image.text(0x560, 'ucrtbase.dll\0').text(0x572, 'puts\0')
  image.u32(0x600, 1, rva(0x660), 0, 0, rva(0x640))
  list(0x640, rva(0x680))
  return image.text(0x660, 'delayed.dll\0').text(0x682, 'later\0').bytes
}

/** The file offset of the text that `answer` names in the images below. */
export const textAt = 0x7c0

/** The DLL with `answer` as data, whose text ends with the section. */
export function peTextImage(bits: 32 | 64 = 64): Buffer {
  const image = peImage(bits)
  const characteristics = image.indexOf('.text') + 36
  image.writeUInt32LE(0x40000040, characteristics)
  // The first address of the export table.
  image.writeUInt32LE(textAt - 0x400 + 0x1000, 0x430)
  return image
}

/** The dylib with `answer` as data, whose text ends with the segment, 0x40 bytes before the end of the file. */
export function machOTextImage(cpuType?: number): Buffer {
  const image = Buffer.concat([machOImage(cpuType), Buffer.alloc(0x440)])
  const segment = 32
  image.writeUInt32LE(0, segment + 72 + 64)
  image.writeBigUInt64LE(0x3f00n, segment + 24)
  image.writeBigUInt64LE(0x80n, segment + 32)
  image.writeBigUInt64LE(BigInt(textAt - 0x40), segment + 40)
  image.writeBigUInt64LE(0x80n, segment + 48)
  return image
}
