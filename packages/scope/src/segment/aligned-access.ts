import { READ_ONLY } from '@tenon/core/internal'
import { locate, locateForWrite } from './locate.ts'
import { UnalignedAccess } from './unaligned-access.ts'
import { refuse, toInt64, toUint64 } from './value-range.ts'

/**
 * Reads and writes of numbers, checked one by one: `byteOffset` counts bytes from the segment's start, the bytes must
 * lie
 * inside it, and their address must be a multiple of their size. The byte order is the machine's without
 * `littleEndian`.
 *
 * All throw, in this order: {@link ArgumentError} (a value that does not fit the kind, an offset that is no whole
 * number),
 * {@link ReadOnlyError} (writes), {@link BoundsError}, {@link AlignmentError}, {@link WrongThreadError}, {@link
 * ScopeClosedError}.
 */
export abstract class AlignedAccess extends UnalignedAccess {
  /** Reads a signed 8-bit integer. */
  getInt8(byteOffset: number): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 1 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 1, 1)
    return block.view.getInt8(at)
  }

  /** Writes a signed 8-bit integer. */
  setInt8(byteOffset: number, value: number): void {
    if (typeof value !== 'number' || (value << 24) >> 24 !== value) refuse('int8', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 1 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 1, 1)
    block.view.setInt8(at, value)
  }

  /** Reads an unsigned 8-bit integer. */
  getUint8(byteOffset: number): number {
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 1 <= this.byteSize
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 1, 1)
    return block.view.getUint8(at)
  }

  /** Writes an unsigned 8-bit integer. */
  setUint8(byteOffset: number, value: number): void {
    if (typeof value !== 'number' || (value & 0xff) !== value) refuse('uint8', value)
    const { block, base } = this
    const isNear = typeof byteOffset === 'number' && byteOffset >>> 0 === byteOffset && byteOffset + 1 <= this.byteSize
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 1, 1)
    block.view.setUint8(at, value)
  }

  /** Reads a signed 16-bit integer. */
  getInt16(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 2 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 1) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 2, 2)
    return block.view.getInt16(at, littleEndian)
  }

  /** Writes a signed 16-bit integer. */
  setInt16(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value << 16) >> 16 !== value) refuse('int16', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 2 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 1) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 2, 2)
    block.view.setInt16(at, value, littleEndian)
  }

  /** Reads an unsigned 16-bit integer. */
  getUint16(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 2 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 1) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 2, 2)
    return block.view.getUint16(at, littleEndian)
  }

  /** Writes an unsigned 16-bit integer. */
  setUint16(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value & 0xffff) !== value) refuse('uint16', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 2 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 1) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 2, 2)
    block.view.setUint16(at, value, littleEndian)
  }

  /** Reads a signed 32-bit integer. */
  getInt32(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 4)
    return block.view.getInt32(at, littleEndian)
  }

  /** Writes a signed 32-bit integer. */
  setInt32(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || (value | 0) !== value) refuse('int32', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 4)
    block.view.setInt32(at, value, littleEndian)
  }

  /** Reads an unsigned 32-bit integer. */
  getUint32(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 4)
    return block.view.getUint32(at, littleEndian)
  }

  /** Writes an unsigned 32-bit integer. */
  setUint32(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number' || value >>> 0 !== value) refuse('uint32', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 4)
    block.view.setUint32(at, value, littleEndian)
  }

  /** Reads a signed 64-bit integer. */
  getInt64(byteOffset: number, littleEndian: boolean = this.isLittleEndian): bigint {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 8)
    return block.view.getBigInt64(at, littleEndian)
  }

  /** Writes a signed 64-bit integer. */
  setInt64(byteOffset: number, value: number | bigint, littleEndian: boolean = this.isLittleEndian): void {
    const wide = toInt64(value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 8)
    block.view.setBigInt64(at, wide, littleEndian)
  }

  /** Reads an unsigned 64-bit integer. */
  getUint64(byteOffset: number, littleEndian: boolean = this.isLittleEndian): bigint {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 8)
    return block.view.getBigUint64(at, littleEndian)
  }

  /** Writes an unsigned 64-bit integer. */
  setUint64(byteOffset: number, value: number | bigint, littleEndian: boolean = this.isLittleEndian): void {
    const wide = toUint64(value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 8)
    block.view.setBigUint64(at, wide, littleEndian)
  }

  /** Reads a 32-bit float. */
  getFloat32(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 4, 4)
    return block.view.getFloat32(at, littleEndian)
  }

  /** Writes a 32-bit float. */
  setFloat32(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number') refuse('float32', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 4 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 3) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 4, 4)
    block.view.setFloat32(at, value, littleEndian)
  }

  /** Reads a 64-bit float. */
  getFloat64(byteOffset: number, littleEndian: boolean = this.isLittleEndian): number {
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const at = isNear && block.gate.alive ? base + byteOffset : locate(this, byteOffset, 8, 8)
    return block.view.getFloat64(at, littleEndian)
  }

  /** Writes a 64-bit float. */
  setFloat64(byteOffset: number, value: number, littleEndian: boolean = this.isLittleEndian): void {
    if (typeof value !== 'number') refuse('float64', value)
    const { block, base } = this
    const isNear =
      typeof byteOffset === 'number' &&
      byteOffset >>> 0 === byteOffset &&
      byteOffset + 8 <= this.byteSize &&
      ((block.skew + base + byteOffset) & 7) === 0
    const isWritable = block.gate.alive && (this.flags & READ_ONLY) === 0
    const at = isNear && isWritable ? base + byteOffset : locateForWrite(this, byteOffset, 8, 8)
    block.view.setFloat64(at, value, littleEndian)
  }
}
