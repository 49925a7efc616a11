import { addressOf } from '@tenon/core/internal'
import { follows, type Image } from '../image/image.ts'
import { abis, hostAbi, hostLittleEndian } from '../layouts/abi.ts'
import { imageLayouts } from '../layouts/layout.ts'
import { startOf } from '../memory/regions.ts'
import type { Plan, Target } from './plan.ts'

/** A struct of the C core in memory of its own. */
export class NativeStruct {
  readonly view: DataView
  readonly address: number

  constructor(byteSize: number) {
    const buffer = new ArrayBuffer(byteSize)
    this.view = new DataView(buffer)
    this.address = addressOf(buffer)
    this.setInt(0, byteSize)
  }

  setInt(at: number, value: number): void {
    this.view.setInt32(at, value, hostLittleEndian)
  }

  getInt(at: number): number {
    return this.view.getInt32(at, hostLittleEndian)
  }

  /** A size, an index or an address: below 2^53. */
  setSize(at: number, value: number): void {
    this.view.setBigUint64(at, BigInt(value), hostLittleEndian)
  }

  getSize(at: number): number {
    return Number(this.view.getBigUint64(at, hostLittleEndian))
  }
}

const FOLLOW = 1
const WRITABLE = 2
/** Pointers have the host's size, so that the offsets of the last fields depend on it. */
const POINTER = hostAbi.endsWith('64') ? 8 : 4

const known = new WeakMap<Image, NativeStruct>()

/** The address of the `tn_tstring_tensor_t` of an image. */
export function descriptorOf(image: Image, isWritable = false): number {
  let struct = known.get(image)
  if (struct === undefined) {
    struct = new NativeStruct(40 + 2 * POINTER)
    struct.setInt(4, imageLayouts.indexOf(image.layout))
    struct.setInt(8, abis.indexOf(image.abi))
    struct.setSize(16, image.count)
    struct.setSize(24, image.table.byteSize)
    struct.setSize(32, image.data.byteSize)
    setPointer(struct, 40, startOf(image.table))
    setPointer(struct, 40 + POINTER, startOf(image.data))
    known.set(image, struct)
  }
  struct.setInt(12, (follows(image) ? FOLLOW : 0) | (isWritable ? WRITABLE : 0))
  return struct.address
}

const targetStruct = (): NativeStruct => (target ??= new NativeStruct(40 + 2 * POINTER))
let target: NativeStruct | undefined

/** The `tn_tstring_target_t` of a plan, without memory: one for all, read before the next is made. */
export function planStruct(plan: Plan): NativeStruct {
  const struct = targetStruct()
  struct.setInt(4, imageLayouts.indexOf(plan.layout))
  struct.setInt(8, abis.indexOf(plan.abi))
  struct.setInt(12, plan.form)
  struct.setInt(16, plan.isInline ? 1 : 0)
  struct.setSize(24, 0)
  struct.setSize(32, 0)
  return struct
}

/** The `tn_tstring_target_t` of a target. */
export function targetStructOf(to: Target): NativeStruct {
  const struct = planStruct(to)
  struct.setSize(24, to.table.byteSize)
  struct.setSize(32, to.data.byteSize)
  setPointer(struct, 40, startOf(to.table))
  setPointer(struct, 40 + POINTER, startOf(to.data))
  return struct
}

/** What {@link planStruct}'s struct holds after it was measured. */
export const measuredSizes = (struct: NativeStruct): { tableSize: number; dataSize: number } => ({
  tableSize: struct.getSize(24),
  dataSize: struct.getSize(32),
})

function setPointer(struct: NativeStruct, at: number, address: number): void {
  if (POINTER === 8) struct.setSize(at, address)
  else struct.view.setUint32(at, address, hostLittleEndian)
}
