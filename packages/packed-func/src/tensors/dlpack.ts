import { ReadOnlyError, type Tensor, type TensorLike } from '@tenon/core'
import { asTensor, checkOptions, LAYOUTS, wrongType, wrongValue } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { makeError } from '../errors/error-kinds.ts'
import { openStack, type Stack } from '../native/stack.ts'
import type { NativeTensor } from '../objects/native-tensor.ts'
import { OpaquePointer } from '../values/scalars.ts'
import { COPIED_FLAG, READ_ONLY_FLAG } from './description.ts'
import { packTensor } from './pack-tensor.ts'
import { tensorOf } from './unpack-tensor.ts'

/** The form of a managed tensor: see {@link toDLPack} and {@link fromDLPack}. */
export interface DLPackOptions {
  /**
   * True, the default, for a `DLManagedTensorVersioned` of DLPack 1, which records read-only memory; false for the older
   * `DLManagedTensor`.
   */
  readonly versioned?: boolean
}

/** Options of {@link toDLPack}. */
export interface ToDLPackOptions extends DLPackOptions {
  /**
   * Whether the managed tensor has a copy of the elements, which its consumer alone uses and may write. DLPack 1 records that with the flag
   * IS_COPIED.
   */
  readonly copy?: boolean
}

/**
 * Creates a managed tensor of DLPack over a tensor's memory, for another library, which must call its deleter. Nothing is copied unless `copy` is
 * true, and the memory is held open until then. If the address is dropped, the memory is never released.
 *
 * @returns the address of the managed tensor.
 * @throws {ArgumentError} if `tensor` is not a tensor. @throws {ReadOnlyError} if it is read-only and `versioned` is false.
 * @throws {ScopeClosedError} if its memory is closed or closing.
 * @example
 * const pointer = toDLPack(x)
 * fromDLPack(pointer) // a tensor over the memory of x
 */
export function toDLPack(tensor: TensorLike, options?: ToDLPackOptions): OpaquePointer {
  const own = asTensor(tensor, 'tensor')
  const { versioned = true, copy = false } = checkOptions(options, ['versioned', 'copy'])
  if (typeof copy !== 'boolean') throw wrongType('copy', 'true or false', copy)
  return managedTensor(copy ? own.copy() : own, versioned, copy ? COPIED_FLAG : 0)
}

/** Creates a managed tensor over the memory of a tensor. @param extra flags beside the one for read-only memory */
function managedTensor(tensor: Tensor, versioned: boolean, extra: number): OpaquePointer {
  const { readOnly } = tensor.segment
  if (!versioned && readOnly) {
    throw new ReadOnlyError('a DLManagedTensor cannot record that its memory is read-only', {
      hint: 'Leave versioned out, or pass { copy: true } as well.',
    })
  }
  const stack = openStack()
  return stack.frame(1, (slot) => {
    packTensor(stack, slot + 1, tensor, true)
    const [at, object] = [stack.slotAddress(slot), stack.pointer(slot + 1)]
    const [version, flags] = [versioned ? 1 : 0, (readOnly ? READ_ONLY_FLAG : 0) | extra]
    if (stack.host.tn_packed_tensor_to_dlpack(at, object, version, flags) !== 0) throw takeError(stack, slot)
    return new OpaquePointer(BigInt(stack.pointer(slot)))
  })
}

/**
 * Takes over a managed tensor of DLPack and makes a tensor over its memory. The deleter is called once native code has released the
 * tensor, and its lifetime is closed or the garbage collector has found it. Read-only memory stays read-only. A copy that the producer has
 * made for its consumer, as the flag IS_COPIED says, is a tensor like others.
 *
 * @param pointer the address of the managed tensor. It cannot be checked: another address may end the process.
 * @param options.alignment the alignment in bytes that the memory must have; 1 by default.
 * @returns a native tensor, which has the reason, if the memory is not on the CPU, is null or not aligned to its elements, or Tenon does not
 * have the type: vectors as elements, and negative sizes or strides.
 * @throws {ArgumentError} if `pointer` is not a pointer, or null. @throws {PackedFuncError} of kind `RuntimeError` if the memory is
 * not aligned, or `MemoryError`; the managed tensor then stays the caller's. Of kind `BufferError` if it has another major version than 1; then its
 * deleter has been called.
 */
export function fromDLPack(
  pointer: OpaquePointer,
  options?: DLPackOptions & { readonly alignment?: number },
): Tensor | NativeTensor {
  if (!(pointer instanceof OpaquePointer) || pointer.address === 0n)
    throw wrongType('pointer', 'the address of a managed tensor', pointer)
  const { versioned = true, alignment = 1 } = checkOptions(options, ['versioned', 'alignment'])
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > 2 ** 30)
    throw wrongValue('alignment', 'a whole number of bytes up to 2^30', alignment)
  const stack = openStack()
  if (versioned) refuseOtherMajor(stack, Number(pointer.address))
  return stack.frame(0, (slot) => {
    const [at, address] = [stack.slotAddress(slot), Number(pointer.address)]
    const status = stack.host.tn_packed_tensor_from_dlpack(at, address, versioned ? 1 : 0, alignment)
    if (status !== 0) throw takeError(stack, slot)
    return tensorOf(stack, stack.pointer(slot)) as Tensor | NativeTensor
  })
}

/**
 * Calls the deleter of a managed tensor whose major version is not 1, because the layout of the rest is not known.
 *
 * @throws {PackedFuncError} of kind `BufferError`.
 */
function refuseOtherMajor(stack: Stack, address: number): void {
  const version = stack.copyOf(address, LAYOUTS.DLPackVersion.size)
  const [major, minor] = [version.readUInt32LE(0), version.readUInt32LE(LAYOUTS.DLPackVersion.offsets.minor)]
  if (major === 1) return
  stack.cleanUp(() => stack.entered.tn_packed_delete_dlpack(address))
  throw makeError('BufferError', `DLPack version ${major}.${minor} is not supported, 1.x is`, {
    hint: 'Ask the library that made the tensor for DLPack 1, or pass { versioned: false } for a DLManagedTensor.',
  })
}
