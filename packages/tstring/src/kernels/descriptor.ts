import { CONSTANTS, LAYOUTS, NativeStruct } from '@tenon/core/internal'
import { follows, type Image } from '../image/image.ts'
import { abiCodes, layoutCodes } from '../layouts/codes.ts'
import { startOf } from '../memory/regions.ts'
import type { Plan, Sizes, Target } from './plan.ts'

const { size: TENSOR_SIZE, offsets: TENSOR } = LAYOUTS.tn_tstring_tensor_t
const { size: TARGET_SIZE, offsets: TARGET } = LAYOUTS.tn_tstring_target_t

const known = new WeakMap<Image, NativeStruct>()

/** Returns the `tn_tstring_tensor_t` of an image. */
export function descriptorOf(image: Image, isWritable = false): NativeStruct {
  let struct = known.get(image)
  if (struct === undefined) {
    struct = new NativeStruct(TENSOR_SIZE)
    struct.setInt(TENSOR.layout, layoutCodes[image.layout])
    struct.setInt(TENSOR.abi, abiCodes[image.abi])
    struct.setSize(TENSOR.count, image.count)
    struct.setSize(TENSOR.table_size, image.table.byteSize)
    struct.setSize(TENSOR.data_size, image.data.byteSize)
    struct.setSize(TENSOR.table, startOf(image.table))
    struct.setSize(TENSOR.data, startOf(image.data))
    known.set(image, struct)
  }
  const { TN_TSTRING_FOLLOW: follow, TN_TSTRING_WRITABLE: writable } = CONSTANTS
  struct.setInt(TENSOR.flags, (follows(image) ? follow : 0) | (isWritable ? writable : 0))
  return struct
}

let target: NativeStruct | undefined

/** Returns the `tn_tstring_target_t` of a plan, without memory. The next call uses the same struct again. */
export function planStruct(plan: Plan): NativeStruct {
  const struct = (target ??= new NativeStruct(TARGET_SIZE))
  struct.setInt(TARGET.layout, layoutCodes[plan.layout])
  struct.setInt(TARGET.abi, abiCodes[plan.abi])
  struct.setInt(TARGET.form, plan.form)
  struct.setInt(TARGET.is_inline, plan.isInline ? 1 : 0)
  struct.setSize(TARGET.table_size, 0)
  struct.setSize(TARGET.data_size, 0)
  return struct
}

/** Returns the `tn_tstring_target_t` of a target. The next call uses the same struct again. */
export function targetStructOf(to: Target): NativeStruct {
  const struct = planStruct(to)
  struct.setSize(TARGET.table_size, to.table.byteSize)
  struct.setSize(TARGET.data_size, to.data.byteSize)
  struct.setSize(TARGET.table, startOf(to.table))
  struct.setSize(TARGET.data, startOf(to.data))
  return struct
}

export const measuredSizes = (struct: NativeStruct): Sizes => ({
  tableSize: struct.getSize(TARGET.table_size),
  dataSize: struct.getSize(TARGET.data_size),
})
