import * as types from 'node:util/types'
import { AllocationError } from '../errors/kinds.ts'
import { runtime } from '../native/runtime.ts'

/** The bytes to allocate beyond the size of memory, so that it can begin at a multiple of `byteAlignment` in its buffer. */
export function alignmentGap(byteAlignment: number): number {
  const { bufferAlignment } = runtime
  return byteAlignment > bufferAlignment ? byteAlignment - bufferAlignment : 0
}

/** The buffer has at least one byte, so that its address is unique. @throws {AllocationError} */
export function newArrayBuffer(byteSize: number, byteAlignment: number): ArrayBuffer {
  // No method of Math, which a program can replace: addresses beyond the buffer would be handed out.
  const room = (byteSize === 0 ? 1 : byteSize) + alignmentGap(byteAlignment)
  try {
    return new ArrayBuffer(room)
  } catch (error) {
    throw allocationError(byteSize, byteAlignment, error)
  }
}

/** The error of memory that the system or the engine refuses. @param cause the error of the engine */
export const allocationError = (byteSize: number, byteAlignment: number, cause?: unknown): AllocationError =>
  new AllocationError(`${byteSize} bytes aligned to ${byteAlignment} could not be allocated`, {
    hint: 'Allocate less, or free memory that is no longer needed.',
    details: { byteSize, byteAlignment },
    cause,
  })

type Getter<Of, Result> = (this: Of) => Result

/**
 * The engine's own getter. A user who reaches a buffer through a raw view can define a property with the name of a getter or
 * method, so the buffer's properties are not read.
 */
function getterOf<Of extends object, Name extends keyof Of>(
  Class: { readonly prototype: Of },
  name: Name,
): Getter<Of, Of[Name]> {
  return Object.getOwnPropertyDescriptor(Class.prototype, name)!.get as Getter<Of, Of[Name]>
}

const detachedOf = getterOf(ArrayBuffer, 'detached')
const resizableOf = getterOf(ArrayBuffer, 'resizable')
const growableOf = getterOf(SharedArrayBuffer, 'growable')
const lengthOf = getterOf(ArrayBuffer, 'byteLength')
const sharedLengthOf = getterOf(SharedArrayBuffer, 'byteLength')
const { transfer } = ArrayBuffer.prototype

export function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer instanceof ArrayBuffer) return detachedOf.call(buffer)
  if (buffer instanceof SharedArrayBuffer) return false
  // The buffer of another context of node:vm.
  return types.isArrayBuffer(buffer) && detachedOf.call(buffer)
}

/** Whether the memory of a buffer can shrink or grow, so that an address in it may become invalid. */
export function isResizable(buffer: ArrayBufferLike): boolean {
  return types.isArrayBuffer(buffer) ? resizableOf.call(buffer) : growableOf.call(buffer)
}

/** The size of a buffer in bytes. */
export function byteLengthOf(buffer: ArrayBufferLike): number {
  return types.isArrayBuffer(buffer) ? lengthOf.call(buffer) : sharedLengthOf.call(buffer)
}

/**
 * Detaches an attached buffer, which invalidates its views. Returns false if the engine refuses, as it does after
 * `markAsUntransferable()`. The memory must then stay as it is, because views can still reach it.
 */
export function detachBuffer(buffer: ArrayBuffer): boolean {
  try {
    transfer.call(buffer, 0)
    return true
  } catch {
    return false
  }
}

/** The key of the memory of a buffer that {@link retireBuffer} has detached. */
const retired = Symbol('retired')

/**
 * Detaches a buffer that views of the user may reach. The garbage collector frees the memory with the buffer, because a read of
 * a file into a view may be in progress on another thread: it keeps the view alive, but does not notice that the view is
 * detached. Returns false if the engine refuses.
 */
export function retireBuffer(buffer: ArrayBuffer): boolean {
  try {
    ;(buffer as { [retired]?: ArrayBuffer })[retired] = transfer.call(buffer)
    return true
  } catch {
    return false
  }
}

/** Moves the memory of a buffer to a new one at the same address. @throws {TypeError} if the engine refuses. */
export function moveBuffer(buffer: ArrayBuffer): ArrayBuffer {
  return transfer.call(buffer)
}
