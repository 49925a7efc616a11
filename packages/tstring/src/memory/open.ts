import { ReadOnlyError, Segment } from '@tenon/core'
import { addressOf, Block, checkUsable, enterCall, globalGate, leaveCall } from '@tenon/core/internal'
import { argumentError } from '../errors/arguments.ts'

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

/** Returns a segment, which keeps the buffer alive. If the buffer is transferred, the next use throws. */
export function segmentOver(view: ArrayBufferView, name: string): Segment {
  if (!ArrayBuffer.isView(view)) throw argumentError(name, 'a typed array', view)
  const { buffer, byteOffset, byteLength } = view
  if ((buffer as { resizable?: boolean }).resizable || (buffer as { growable?: boolean }).growable) {
    throw argumentError(name, 'a view of a buffer that cannot be resized', buffer)
  }
  const block = new Block(globalGate, new DataView(buffer), Buffer.from(buffer as ArrayBuffer), addressOf(buffer))
  block.exposed = true
  return new Segment(block, byteOffset, byteLength, 0)
}
