import { AllocationError, ArgumentError, ReadOnlyError, Segment, type NativeAllocator } from '@tenon/core'
import {
  addressOf,
  Block,
  checkUsable,
  copyHint,
  describe,
  DEVICE_MEMORY,
  enterCall,
  gateOfBuffer,
  globalGate,
  isResizable,
  leaveCall,
  readSegment,
} from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'
import { extentOf } from './typed-arrays.ts'

/** Calls the C core and keeps segments open meanwhile. @throws {ScopeClosedError | WrongThreadError} */
export function withOpen<T>(segments: readonly Segment[], call: () => T): T {
  for (const { block } of segments) checkUsable(block)
  enterCall(segments.map(({ block }) => block))
  try {
    return call()
  } finally {
    leaveCall()
  }
}

export function checkWritable({ block, readOnly }: Segment): void {
  checkUsable(block)
  if (readOnly) throw new ReadOnlyError('the memory of the string tensor is read-only')
}

/**
 * Returns the segment with fields that were read once and checked afterwards, because a proxy or a subclass can answer
 * differently each time.
 *
 * @throws {ArgumentError} for other values and device memory. @throws {ScopeClosedError} if the memory is closed.
 */
export function checkSegment(value: unknown, name: string, expected = 'a Segment'): Segment {
  const segment = readSegment(value)
  if (segment === undefined) throw argumentError(name, expected, value)
  if ((segment.flags & DEVICE_MEMORY) !== 0) {
    throw new ArgumentError(`${name} must be host memory, got device memory`, { hint: 'Copy it to host memory first.' })
  }
  return segment
}

/**
 * Returns a segment, which keeps the buffer alive. If the buffer is transferred, the next use throws.
 *
 * @param blocks the blocks of buffers, so that segments over one buffer share a block.
 */
export function segmentOver(view: ArrayBufferView, name: string, blocks?: Map<ArrayBufferLike, Block>): Segment {
  const { buffer, byteOffset, byteLength } = extentOf(view, name)
  if (isResizable(buffer)) throw argumentError(name, 'a view of a buffer that cannot be resized', buffer)
  const block = blocks?.get(buffer) ?? blockOver(buffer)
  blocks?.set(buffer, block)
  return new Segment(block, byteOffset, byteLength, 0)
}

function blockOver(buffer: ArrayBufferLike): Block {
  const gate = gateOfBuffer(buffer) ?? globalGate
  const block = new Block(gate, new DataView(buffer), Buffer.from(buffer as ArrayBuffer), addressOf(buffer))
  checkUsable(block)
  block.exposed = true
  return block
}

/** Allocates writable memory, and checks the result, because an allocator can be foreign code. @throws {AllocationError} */
export function allocateFrom(allocator: NativeAllocator, byteSize: number, byteAlignment: number): Segment {
  if (typeof (allocator as NativeAllocator | null)?.allocate !== 'function') {
    throw argumentError('allocator', 'an object with the method allocate(byteSize, byteAlignment)', allocator)
  }
  const segment: unknown = allocator.allocate(byteSize, byteAlignment)
  if (!(segment instanceof Segment))
    throw badResult(`a segment of ${byteSize} bytes`, describe(segment), copyHint(segment))
  const checked = checkSegment(segment, 'the result of the allocator')
  checkWritable(checked)
  if (checked.byteSize < byteSize) throw badResult(`a segment of ${byteSize} bytes`, `${checked.byteSize} bytes`)
  const rest = (checked.block.address + checked.base) % byteAlignment
  if (rest !== 0) throw badResult(`memory aligned to ${byteAlignment}`, `an address ${rest} bytes behind`)
  return checked.byteSize === byteSize ? checked : checked.asSlice(0, byteSize)
}

function badResult(expected: string, received: string, hint?: string): AllocationError {
  return new AllocationError(`the allocator must return ${expected}, got ${received}`, {
    hint,
    details: { expected, received },
  })
}
