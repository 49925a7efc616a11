import { ArgumentError, ArgumentRangeError, ReadOnlyError, Tensor } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { openStack } from '../native/stack.ts'
import type { NativeObject } from '../objects/native-object.ts'
import { OpaquePointer } from '../values/scalars.ts'
import { READ_ONLY_FLAG } from './description.ts'
import { packTensor } from './pack-tensor.ts'
import { tensorOf } from './unpack-tensor.ts'

/** How a tensor is exchanged: see {@link toDLPack} and {@link fromDLPack}. */
export interface DLPackOptions {
  /** A `DLManagedTensorVersioned` of DLPack 1, which knows read-only memory; if false the `DLManagedTensor` before it. */
  readonly versioned?: boolean
}

/**
 * A managed tensor of DLPack over a tensor's memory, for another library, which calls its deleter when it is done. Nothing is
 * copied, and the memory is held open until then.
 *
 * @returns its address. Who drops it drops the memory with it: nothing frees it.
 * @throws {ArgumentError} if it is no tensor. @throws {ReadOnlyError} if it is read-only and not `versioned`.
 * @throws {ScopeClosedError} if its memory is closed.
 * @example
 * const pointer = toDLPack(x)
 * fromDLPack(pointer) // a tensor over the memory of x
 */
export function toDLPack(tensor: Tensor, { versioned = true }: DLPackOptions = {}): OpaquePointer {
  if (!(tensor instanceof Tensor)) throw new ArgumentError(`tensor must be a tensor, got ${describe(tensor)}`)
  if (!versioned && tensor.segment.readOnly) {
    throw new ReadOnlyError('a DLManagedTensor can not say that its memory is read-only', {
      hint: 'leave versioned out, or copy the tensor.',
    })
  }
  const stack = openStack()
  const { top: slot, text } = stack
  const undone = stack.undo.length
  stack.enter(1)
  try {
    packTensor(stack, slot + 1, tensor)
    const { host } = stack
    const flags = tensor.segment.readOnly ? READ_ONLY_FLAG : 0
    const status = host.tensorToDLPack(stack.slotAddress(slot), stack.pointer(slot + 1), versioned ? 1 : 0, flags)
    if (status !== 0) throw takeError(stack, slot)
    return new OpaquePointer(BigInt(stack.pointer(slot)))
  } finally {
    stack.settle(undone)
    stack.leave(slot, text)
  }
}

/**
 * A tensor over the memory of a managed tensor of DLPack, which is taken over: its deleter is called when the tensor's lifetime is
 * closed or the garbage collector has found it, and native code has given it back. Read-only memory stays so.
 *
 * @param pointer its address. It is believed: any other address may end the process.
 * @param options.alignment what the memory's address has to be a multiple of, in bytes; 1 without it.
 * @returns a native object, not a tensor, if the memory is not the CPU's or the element type has no equal here.
 * @throws {ArgumentError} if it is no pointer, or null. @throws {PackedFuncError} of kind `RuntimeError` if it is not aligned: it
 * stays the caller's.
 */
export function fromDLPack(
  pointer: OpaquePointer,
  { versioned = true, alignment = 1 }: DLPackOptions & { readonly alignment?: number } = {},
): Tensor | NativeObject {
  if (!(pointer instanceof OpaquePointer) || pointer.address === 0n)
    throw new ArgumentError(`pointer must be the address of a managed tensor, got ${describe(pointer)}`)
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > 2 ** 30)
    throw new ArgumentRangeError(`alignment must be a whole number of bytes up to 2^30, got ${describe(alignment)}`)
  const stack = openStack()
  const { top: slot, text } = stack
  stack.enter(0)
  try {
    const address = Number(pointer.address)
    const status = stack.host.tensorFromDLPack(stack.slotAddress(slot), address, versioned ? 1 : 0, alignment)
    if (status !== 0) throw takeError(stack, slot)
    return tensorOf(stack, stack.pointer(slot)) as Tensor | NativeObject
  } finally {
    stack.leave(slot, text)
  }
}
