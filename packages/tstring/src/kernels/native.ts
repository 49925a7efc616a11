import type { Segment } from '@tenon/core'
import type { CType } from '@tenon/core/internal'
import { segmentsOf, type Image } from '../image/image.ts'
import { segmentOver } from '../memory/open.ts'
import { startOf } from '../memory/regions.ts'
import { callKernel } from './call.ts'
import { descriptorOf, measuredSizes, NativeStruct, planStruct, targetStructOf } from './descriptor.ts'
import type { Kernels } from './kernels.ts'

let results: NativeStruct | undefined

/** Where kernels write a number. */
function result(): NativeStruct {
  return (results ??= new NativeStruct(16))
}

const POINTER: CType = 'uintptr_t'
const SIZE: CType = 'uint64_t'
const INT: CType = 'int32_t'

/** The kernels of the C core. Each throws a `LoadError` if it can't be loaded. */
export const nativeKernels: Kernels = {
  validate(image, { strict, writable, budget }) {
    const sums = result()
    const values = [descriptorOf(image, writable), strict ? 1 : 0, budget, sums.address]
    callKernel('tn_tstring_validate', [POINTER, INT, SIZE, POINTER], values, segmentsOf(image))
    return { total: sums.getSize(0), notSmall: sums.getSize(8) }
  },

  measure(image, selection, count, plan) {
    const indices = selection === undefined ? [] : [segmentOver(selection, 'selection')]
    const struct = planStruct(plan)
    const values = [descriptorOf(image), addressOrNull(indices), count, struct.address]
    callKernel('tn_tstring_measure', [POINTER, POINTER, SIZE, POINTER], values, [...segmentsOf(image), ...indices])
    return measuredSizes(struct)
  },

  convert(image, selection, count, target) {
    const indices = selection === undefined ? [] : [segmentOver(selection, 'selection')]
    const struct = targetStructOf(target)
    const values = [descriptorOf(image), addressOrNull(indices), count, struct.address]
    const open = [...segmentsOf(image), ...indices, target.table, target.data]
    callKernel('tn_tstring_convert', [POINTER, POINTER, SIZE, POINTER], values, open)
    return measuredSizes(struct).dataSize
  },

  compare(image, other) {
    const out = new Int8Array(image.count)
    const segment = segmentOver(out, 'out')
    const values = [descriptorOf(image), descriptorOf(other), startOf(segment)]
    const open = [...segmentsOf(image), ...segmentsOf(other), segment]
    callKernel('tn_tstring_compare', [POINTER, POINTER, POINTER], values, open)
    return out
  },

  find(image, bytes, from) {
    const index = result()
    const needle = segmentOver(bytes, 'bytes')
    const values = [descriptorOf(image), startOf(needle), needle.byteSize, from, index.address]
    callKernel('tn_tstring_find', [POINTER, POINTER, SIZE, SIZE, POINTER], values, [...segmentsOf(image), needle])
    return index.getSize(0)
  },

  hash(image, seed) {
    const out = new Uint32Array(image.count)
    const segment = segmentOver(out, 'out')
    const values = [descriptorOf(image), seed, startOf(segment)]
    callKernel('tn_tstring_hash', [POINTER, 'uint32_t', POINTER], values, [...segmentsOf(image), segment])
    return out
  },

  findInvalidUtf8(image, from) {
    const index = result()
    const values = [descriptorOf(image), from, index.address]
    callKernel('tn_tstring_find_invalid_utf8', [POINTER, SIZE, POINTER], values, segmentsOf(image))
    return index.getSize(0)
  },
}

/** A copy of one element's bytes, wherever its pointer leads; `byteSize` is what its struct says. */
export function readElement(image: Image, index: number, byteSize: number): Segment {
  const size = result()
  const segment = segmentOver(new Uint8Array(byteSize), 'copy')
  const values = [descriptorOf(image), index, startOf(segment), byteSize, size.address]
  callKernel('tn_tstring_read', [POINTER, SIZE, POINTER, SIZE, POINTER], values, [...segmentsOf(image), segment])
  return segment.asSlice(0, Math.min(byteSize, size.getSize(0)))
}

function addressOrNull(segments: readonly Parameters<typeof startOf>[0][]): number {
  return segments[0] === undefined ? 0 : startOf(segments[0])
}
