import { ArgumentError, ArgumentRangeError, gcAllocator, type NativeAllocator } from '@tenon/core'
import { checkSize, describe } from '@tenon/core/internal'
import type { RfcLayout } from '../element/rfc.ts'
import { hostAbi } from '../layouts/abi.ts'
import { structSize } from '../layouts/layout.ts'
import { PREALLOC_MAXIMUM, writePrealloc } from '../layouts/host-struct.ts'
import { Arena } from '../memory/arena.ts'
import { checkWritable } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import type { Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'

/** How a preallocated tensor is made. */
export interface PreallocateOptions {
  /** `rfc24` without it. */
  readonly layout?: RfcLayout
  readonly allocator?: NativeAllocator
  readonly shape?: readonly number[]
}

/** The parts of `StringTensor.preallocate`: a table of PREALLOC, then room for every string. */
export function preallocated(count: number, capacity: number, options: PreallocateOptions): Parts {
  const { layout = 'rfc24', allocator = gcAllocator } = options
  if (layout !== 'rfc16' && layout !== 'rfc24') {
    throw new ArgumentError(`layout must be 'rfc16' or 'rfc24', which have PREALLOC, got ${describe(layout)}`)
  }
  const [n, room] = [checkSize(count, 'count', 'elements'), checkSize(capacity, 'capacity')]
  if (n > COUNT_MAXIMUM) throw new ArgumentRangeError(`count must be below 2^32, got ${describe(count)}`)
  if (room > PREALLOC_MAXIMUM)
    throw new ArgumentRangeError(`capacity must be at most ${PREALLOC_MAXIMUM}, got ${describe(capacity)}`)
  const shape = checkShape(options.shape, n)
  const stride = structSize(layout)
  const whole = allocator.allocate(n * stride + n * room, TABLE_ALIGNMENT)
  checkWritable(whole)
  const { bytes, view, address } = whole.block
  bytes.fill(0, whole.base, whole.base + n * stride)
  for (let i = 0; i < n; i++) {
    const at = whole.base + i * stride
    writePrealloc(view, at, address + whole.base + n * stride + i * room, 0, room)
  }
  const table = whole.asSlice(0, n * stride)
  const regions = new Regions([whole])
  return {
    image: { layout, abi: hostAbi, count: n, table, data: whole, regions, foreign: false },
    shape,
    segment: table,
    storage: 'arena',
    allocator,
    arena: new Arena(allocator, regions),
    blocks: undefined,
    isWritable: true,
  }
}
