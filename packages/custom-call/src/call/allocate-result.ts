import { cpu, gcAllocator, tensor, Tensor, type NativeAllocator, type TensorType } from '@tenon/core'
import { checkAlignment, newTensor, TENSOR_ALIGNMENT } from '@tenon/core/internal'

/** Allocates a result with the alignment of tensors, or of the call if that is greater. @throws the errors of `tensor()` */
export function allocateResult(
  type: TensorType,
  allocator: NativeAllocator = gcAllocator,
  alignment: number = TENSOR_ALIGNMENT,
): Tensor {
  if (allocator === gcAllocator && alignment === TENSOR_ALIGNMENT) {
    return newTensor(type)
  }
  return allocateWith(type, allocator, alignment)
}

function allocateWith(type: TensorType, allocator: NativeAllocator, alignment: number): Tensor {
  const made = tensorWith(type, allocator, alignment)
  return type.strings === undefined ? made : new Tensor(made.segment, type, cpu)
}

function tensorWith(
  { dtype, shape, strides, packing }: TensorType,
  allocator: NativeAllocator,
  alignment: number,
): Tensor {
  const layout = strides === undefined ? { packing } : { packing, strides }
  // tensor() refuses what is not an allocator.
  if (alignment === TENSOR_ALIGNMENT || typeof allocator?.allocate !== 'function') {
    return tensor(dtype, shape, undefined, { ...layout, allocator })
  }
  const aligned: NativeAllocator = {
    allocate: (byteSize) =>
      allocator.allocate(byteSize, Math.max(checkAlignment(alignment, 'alignment'), TENSOR_ALIGNMENT)),
  }
  return tensor(dtype, shape, undefined, { ...layout, allocator: aligned })
}
