import { ArgumentError, type Segment } from '@tenon/core'
import type { Abi } from '../layouts/abi.ts'
import type { Layout, StringType } from '../layouts/layout.ts'
import { partsOfSegment } from './of-segment.ts'

interface Strings {
  readonly layout: Layout
  readonly abi: Abi
  readonly length: number
  readonly segment: Segment
  type(index: number): StringType | undefined
}

/** Checks that another process can read a tensor. @throws {ArgumentError} that names the first element with a pointer. */
export function checkShareable(strings: Strings): void {
  const { layout, abi, length, segment } = strings
  const hint = `Copy it to the shared memory first: strings.to('${layout}', { storage: 'packed', allocator: memory }).`
  for (let i = 0; i < length; i++) {
    const type = strings.type(i)
    if (type === undefined) break
    if (type === 'small' || type === 'offset') continue
    const received = `${type.toUpperCase()}, which holds a pointer`
    throw new ArgumentError(`element ${i} must be SMALL or OFFSET to be shared with other processes, got ${received}`, {
      hint,
      details: { index: i, received: type },
    })
  }
  try {
    partsOfSegment(segment, { layout, abi, shape: [length], validate: 'lenient' })
  } catch (cause) {
    throw new ArgumentError('the strings must lie in one block to be shared with other processes, got a part of one', {
      hint,
      cause,
    })
  }
}
