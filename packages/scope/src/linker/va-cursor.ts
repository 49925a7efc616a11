import { inspectAsText } from '@tenon/core/internal'
import { MemorySegment } from '../segment/memory-segment.ts'

/** The form of a `va_list` in memory. Source: the System V ABI for x86-64 (3.5.7), and AAPCS64 (appendix B). */
type VaKind =
  /** 24 bytes: gp_offset, fp_offset, overflow_arg_area, reg_save_area. */
  | 'sysv-x64'
  /** 32 bytes: stack, gr_top, vr_top, gr_offs, vr_offs. */
  | 'aapcs64'
  /** A pointer to slots of 8 bytes: macOS on arm64, and Windows. */
  | 'slots'

export const vaKind: VaKind = kindOf(process.platform, process.arch)

function kindOf(platform: string, arch: string): VaKind {
  if (platform === 'win32') return 'slots'
  if (arch === 'x64') return 'sysv-x64'
  return platform === 'darwin' ? 'slots' : 'aapcs64'
}

/** The size of the list itself, in bytes. */
export const vaListSize: Readonly<Record<VaKind, number>> = { 'sysv-x64': 24, aapcs64: 32, slots: 8 }

/** The ends of the saved registers on x86-64, in bytes: six general ones, then eight vector ones of 16 bytes. */
export const GENERAL_END = 48
export const VECTOR_END = 176

/** The size of an argument on the stack, in bytes. */
export const SLOT = 8

/** Reads the arguments of a `va_list` in order. Each read advances the list, as in C. */
export class VaCursor {
  readonly #list: MemorySegment

  /** @internal */
  constructor(list: MemorySegment) {
    this.#list = list
  }

  int32(): number {
    return this.#next('general').getInt32(0)
  }
  uint32(): number {
    return this.#next('general').getUint32(0)
  }
  int64(): bigint {
    return this.#next('general').getInt64(0)
  }
  uint64(): bigint {
    return this.#next('general').getUint64(0)
  }
  float64(): number {
    return this.#next('vector').getFloat64(0)
  }
  pointer(): MemorySegment {
    return MemorySegment.ofAddress(this.uint64())
  }
  /** Skips an argument. */
  skip(kind: 'integer' | 'float' | 'pointer'): void {
    this.#next(kind === 'float' ? 'vector' : 'general')
  }

  #next(register: 'general' | 'vector'): MemorySegment {
    if (vaKind === 'sysv-x64') return this.#nextOfX64(register)
    if (vaKind === 'aapcs64') return this.#nextOfArm(register)
    return this.#take(0)
  }

  #nextOfX64(register: 'general' | 'vector'): MemorySegment {
    const [at, end, size] = register === 'general' ? [0, GENERAL_END, 8] : [4, VECTOR_END, 16]
    const offset = this.#list.getUint32(at)
    if (offset >= end) return this.#take(8)
    this.#list.setUint32(at, offset + size)
    return slotAt(this.#list.getUint64(16) + BigInt(offset))
  }

  #nextOfArm(register: 'general' | 'vector'): MemorySegment {
    const [top, at, size] = register === 'general' ? [8, 24, 8] : [16, 28, 16]
    const offset = this.#list.getInt32(at)
    if (offset >= 0) return this.#take(0)
    this.#list.setInt32(at, offset + size)
    return slotAt(this.#list.getUint64(top) + BigInt(offset))
  }

  #take(place: number): MemorySegment {
    const address = this.#list.getUint64(place)
    this.#list.setUint64(place, address + BigInt(SLOT))
    return slotAt(address)
  }

  toString(): string {
    return `VaCursor over ${this.#list}`
  }

  static {
    inspectAsText(VaCursor)
  }
}

const slotAt = (address: bigint): MemorySegment => MemorySegment.ofAddress(address).reinterpret(SLOT)
