import { addressOf, newArrayBuffer } from '@tenon/core/internal'

/** What frames are aligned to, in bytes. */
const FRAME_ALIGNMENT = 64

/**
 * The native memory of one call: JavaScript's own, at a fixed address. The pointers of all buffers, operands before
 * results, lie in it at equal steps, where they are patched before a run.
 */
export interface CallMemory {
  readonly view: DataView
  /** The start of the call's memory: what the native functions are given. */
  readonly address: number
  /** Where the pointer to the first buffer lies, in bytes from the view's start. */
  readonly firstPointer: number
  /** From one pointer to the next, in bytes. */
  readonly step: number
  /** Set while a run uses the memory. */
  running: boolean
}

/** Zeroed memory for a call, aligned for a frame. */
export function allocateCall(byteSize: number): { readonly view: DataView; readonly address: number } {
  const buffer = newArrayBuffer(byteSize, FRAME_ALIGNMENT)
  const address = addressOf(buffer)
  const base = (FRAME_ALIGNMENT - (address % FRAME_ALIGNMENT)) % FRAME_ALIGNMENT
  return { view: new DataView(buffer, base, byteSize), address: address + base }
}
