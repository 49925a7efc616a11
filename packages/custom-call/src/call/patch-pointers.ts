import { AlignmentError, ArgumentError, cpu, ReadOnlyError, Tensor, type TensorType } from '@tenon/core'
import { describe, READ_ONLY } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { CallShape, Tensors } from './call-target.ts'

/**
 * Checks the tensors of a run and writes their pointers into the call's memory. Nothing is held yet, so it may throw.
 *
 * @throws {ArgumentError} if a tensor is missing or of another type. @throws {ScopeClosedError} if its memory is dead.
 * @throws {ReadOnlyError} if a result can't be written. @throws {AlignmentError} if memory is not aligned as asked.
 */
export function patchPointers(shape: CallShape, memory: CallMemory, operands: Tensors, results: Tensors): void {
  const { types, operandCount, misalignment } = shape
  const { view, step } = memory
  if (operands?.length !== operandCount || results?.length !== types.length - operandCount) {
    refuseCount(shape, operands, results)
  }
  let at = memory.firstPointer
  for (let i = 0; i < operandCount; i++) {
    const tensor = operands[i]
    if (
      tensor?.type !== types[i] ||
      !tensor!.gate.alive ||
      (tensor!.address & misalignment) !== 0 ||
      tensor!.device.type !== cpu.type
    ) {
      refuse(tensor, types[i]!, misalignment, `operand ${i} of ${shape.name}`)
    }
    view.setFloat64(at, tensor!.pointer, true)
    at += step
  }
  for (let i = operandCount; i < types.length; i++) {
    const tensor = results[i - operandCount]
    if (
      tensor?.type !== types[i] ||
      !tensor!.gate.alive ||
      (tensor!.address & misalignment) !== 0 ||
      tensor!.device.type !== cpu.type ||
      (tensor!.segment.flags & READ_ONLY) !== 0
    ) {
      refuse(tensor, types[i]!, misalignment, `result ${i - operandCount} of ${shape.name}`)
    }
    view.setFloat64(at, tensor!.pointer, true)
    at += step
  }
}

function refuseCount({ name, types, operandCount }: CallShape, operands: Tensors, results: Tensors): never {
  const found = [operands, results].map((list) => (Array.isArray(list) ? `${list.length}` : describe(list)))
  throw new ArgumentError(
    `${name} is prepared for ${operandCount} operands and ${types.length - operandCount} results, got ${found.join(' and ')}`,
    { hint: 'pass arrays of tensors, in the order of the types that the call was prepared with.' },
  )
}

/** Says what is wrong with a tensor of a run. */
function refuse(tensor: unknown, type: TensorType, misalignment: number, place: string): never {
  if (!(tensor instanceof Tensor)) throw new ArgumentError(`${place} must be a tensor of ${type}, got ${describe(tensor)}`)
  if (tensor.type !== type) {
    throw new ArgumentError(`${place} must be ${describeType(type)}, got ${describeType(tensor.type)}`, {
      hint: 'the call was prepared for one type: prepare another, or copy the tensor into one of that type.',
      details: { expected: String(type), actual: String(tensor.type) },
    })
  }
  tensor.segment.lifetime.checkAlive()
  if (tensor.device.type !== cpu.type) {
    throw new ArgumentError(`${place} must be on the CPU, it is on device type ${tensor.device.type}`)
  }
  if ((tensor.address & misalignment) !== 0) {
    throw new AlignmentError(`${place} must start at a multiple of ${misalignment + 1} bytes`, {
      hint: 'the call was prepared with this alignment: allocate the memory accordingly.',
      details: { address: `0x${tensor.address.toString(16)}`, alignment: misalignment + 1 },
    })
  }
  throw new ReadOnlyError(`${place} must be writable, its memory is read-only`)
}

function describeType(type: TensorType): string {
  const strides = type.strides === undefined ? '' : ` with strides [${type.strides.join(', ')}]`
  return `${type}${strides}${type.packing === 'packed' ? ', packed' : ''}`
}
