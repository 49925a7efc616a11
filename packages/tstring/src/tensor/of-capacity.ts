import { gcAllocator, type NativeAllocator } from '@tenon/core'
import { checkOptions, checkSize, fillBytes, wrongValue } from '@tenon/core/internal'
import { checkOneOf } from '../errors/arguments.ts'
import { hostAbi } from '../layouts/abi.ts'
import { PREALLOC_MAXIMUM, writePrealloc } from '../layouts/struct-words.ts'
import { rfcLayouts, structSize, type RfcLayout } from '../layouts/layout.ts'
import { allocateFrom } from '../memory/open.ts'
import { Regions } from '../memory/regions.ts'
import { TABLE_ALIGNMENT } from './convert-to.ts'
import { arenaParts, type Parts } from './parts.ts'
import { checkShape, COUNT_MAXIMUM } from './shape.ts'

/** Options of `StringTensor.ofCapacity`. */
export interface OfCapacityOptions {
  /** The layout; by default `rfc24`. */
  readonly layout?: RfcLayout
  /** Allocates the tensor; by default memory of the garbage collector. */
  readonly allocator?: NativeAllocator
  /** The size along each axis; by default one axis. */
  readonly shape?: readonly number[]
}

/** Returns the parts of `StringTensor.ofCapacity`: a table of PREALLOC, then the room for each string. */
export function partsOfCapacity(count: number, capacity: number, options: OfCapacityOptions | undefined): Parts {
  const { layout = 'rfc24', allocator = gcAllocator, shape } = checkOptions(options, ['layout', 'allocator', 'shape'])
  checkOneOf(layout, rfcLayouts, 'layout')
  const n = checkMaximum(count, COUNT_MAXIMUM, 'count', 'elements')
  const room = checkMaximum(capacity, PREALLOC_MAXIMUM, 'capacity', 'bytes')
  const checked = checkShape(shape, n)
  const stride = structSize(layout)
  const whole = allocateFrom(allocator, n * stride + n * room, TABLE_ALIGNMENT)
  const { bytes, view, address } = whole.block
  fillBytes(bytes, 0, whole.base, whole.base + n * stride)
  for (let i = 0; i < n; i++) {
    writePrealloc(view, whole.base + i * stride, address + whole.base + n * stride + i * room, 0, room)
  }
  const table = whole.asSlice(0, n * stride)
  const regions = new Regions([whole])
  return arenaParts({ layout, abi: hostAbi, count: n, table, data: whole, regions, foreign: false }, checked, allocator)
}

function checkMaximum(value: number, maximum: number, name: string, unit: string): number {
  const size = checkSize(value, name, unit)
  if (size <= maximum) return size
  throw wrongValue(name, `at most ${maximum} ${unit}`, value)
}
