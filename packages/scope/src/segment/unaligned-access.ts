import { Segment } from '@tenon/core'
import { READ_ONLY } from '@tenon/core/internal'
import { LITTLE_ENDIAN } from './byte-order.ts'
import { locate, locateForWrite } from './locate.ts'
import { refuse, toInt64, toUint64 } from './value-range.ts'

/**
 * Reads and writes at any address. Everything that {@link AlignedAccess} says holds, but for the alignment.
 */
export abstract class UnalignedAccess extends Segment {
  /**
   * @internal Whether the machine is. On the prototype, where the engine takes it for a constant: a variable of the module
   * makes each access half as slow again.
   */
  declare readonly isLittleEndian: boolean

  /** Reads a signed 16-bit integer at any address. */
  getInt16Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 2 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 2, 1)
    return block.view.getInt16(at, littleEndian)
  }

  /** Writes a signed 16-bit integer at any address. */
  setInt16Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value << 16) >> 16 !== value) refuse('int16', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 2 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 2, 1)
    block.view.setInt16(at, value, littleEndian)
  }

  /** Reads an unsigned 16-bit integer at any address. */
  getUint16Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 2 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 2, 1)
    return block.view.getUint16(at, littleEndian)
  }

  /** Writes an unsigned 16-bit integer at any address. */
  setUint16Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value & 0xffff) !== value) refuse('uint16', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 2 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 2, 1)
    block.view.setUint16(at, value, littleEndian)
  }

  /** Reads a signed 32-bit integer at any address. */
  getInt32Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 1)
    return block.view.getInt32(at, littleEndian)
  }

  /** Writes a signed 32-bit integer at any address. */
  setInt32Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value | 0) !== value) refuse('int32', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 1)
    block.view.setInt32(at, value, littleEndian)
  }

  /** Reads an unsigned 32-bit integer at any address. */
  getUint32Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 1)
    return block.view.getUint32(at, littleEndian)
  }

  /** Writes an unsigned 32-bit integer at any address. */
  setUint32Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || value >>> 0 !== value) refuse('uint32', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 1)
    block.view.setUint32(at, value, littleEndian)
  }

  /** Reads a signed 64-bit integer at any address. */
  getInt64Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): bigint {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 1)
    return block.view.getBigInt64(at, littleEndian)
  }

  /** Writes a signed 64-bit integer at any address. */
  setInt64Unaligned(byteOffset: number, value: number | bigint, littleEndian: boolean = this.isLittleEndian): void {
    const wide = toInt64(value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 1)
    block.view.setBigInt64(at, wide, littleEndian)
  }

  /** Reads an unsigned 64-bit integer at any address. */
  getUint64Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): bigint {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 1)
    return block.view.getBigUint64(at, littleEndian)
  }

  /** Writes an unsigned 64-bit integer at any address. */
  setUint64Unaligned(byteOffset: number, value: number | bigint, littleEndian: boolean = this.isLittleEndian): void {
    const wide = toUint64(value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 1)
    block.view.setBigUint64(at, wide, littleEndian)
  }

  /** Reads a 32-bit float at any address. */
  getFloat32Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 1)
    return block.view.getFloat32(at, littleEndian)
  }

  /** Writes a 32-bit float at any address. */
  setFloat32Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number') refuse('float32', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 4 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 1)
    block.view.setFloat32(at, value, littleEndian)
  }

  /** Reads a 64-bit float at any address. */
  getFloat64Unaligned(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 1)
    return block.view.getFloat64(at, littleEndian)
  }

  /** Writes a 64-bit float at any address. */
  setFloat64Unaligned(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number') refuse('float64', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 8 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 1)
    block.view.setFloat64(at, value, littleEndian)
  }
}

Object.defineProperty(UnalignedAccess.prototype, 'isLittleEndian', { value: LITTLE_ENDIAN })
