import { ArgumentError, ReadOnlyError, Segment } from '@tenon/core'
import { addressOf, Block, checkUsable, describe, enterCall, globalGate, leaveCall } from '@tenon/core/internal'

/**
 * Runs a call into the C core with segments that stay open meanwhile.
 *
 * @throws {ScopeClosedError | WrongThreadError} if one is dead, or its buffer was detached.
 */
export function withOpen<T>(segments: readonly Segment[], call: () => T): T {
  for (const { block } of segments) checkUsable(block)
  enterCall(segments.map(({ block }) => block))
  try {
    return call()
  } finally {
    leaveCall()
  }
}

/** @throws {ReadOnlyError} if a segment refuses writes. @throws {ScopeClosedError | WrongThreadError} if it is dead. */
export function checkWritable({ block, readOnly }: Segment): void {
  checkUsable(block)
  if (readOnly) throw new ReadOnlyError('the memory of the string tensor is read-only')
}

/**
 * A segment over the bytes of a buffer, which the segment keeps from being collected. Transferring the buffer away is
 * noticed at the next use.
 *
 * @throws {ArgumentError} if it is no view, or its buffer can be resized.
 */
export function segmentOver(view: ArrayBufferView, name: string): Segment {
  if (!ArrayBuffer.isView(view)) throw new ArgumentError(`${name} must be a typed array, got ${describe(view)}`)
  const { buffer, byteOffset, byteLength } = view
  if ((buffer as { resizable?: boolean }).resizable || (buffer as { growable?: boolean }).growable) {
    throw new ArgumentError(`${name} must not lie in a buffer that can be resized`)
  }
  const block = new Block(globalGate, new DataView(buffer), Buffer.from(buffer as ArrayBuffer), addressOf(buffer))
  block.exposed = true
  return new Segment(block, byteOffset, byteLength, 0)
}
