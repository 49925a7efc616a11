import { AlignmentError, ArgumentError, cpu, ReadOnlyError, Tensor, type TensorType } from '@tenon/core'
import { describe, hex, READ_ONLY } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { CallShape, Tensors } from './call-target.ts'

/**
 * Checks the tensors of a run and writes their pointers into the call's memory. Nothing is held yet, so it may throw.
 *
 * @throws {ArgumentError} if a tensor is missing or of another type. @throws {ScopeClosedError} if its memory is dead.
 * @throws {ReadOnlyError} if a result can't be written. @throws {AlignmentError} if memory is not aligned as asked.
 */
export function patchPointers(shape: CallShape, memory: CallMemory, operands: Tensors, results: Tensors): void {
  try {
    if (patchedAll(shape, memory, operands, results)) return
  } catch {
    // Something among the tensors has no properties to read, not even missing ones: told below.
  }
  patchEach(shape, memory, operands, results)
}

/**
 * The way of every run: false, without a reason, if anything looks wrong. It does not ask whether a tensor is there at
 * all: four questions cost as much as writing four pointers.
 */
function patchedAll(shape: CallShape, memory: CallMemory, operands: Tensors, results: Tensors): boolean {
  const { types, operandCount, misalignment } = shape
  const { view, step } = memory
  if (operands.length !== operandCount || results.length !== types.length - operandCount) return false
  let at = memory.firstPointer
  for (let i = 0; i < operandCount; i++) {
    const tensor = operands[i]!
    if (tensor.type !== types[i] || !tensor.gate.alive || tensor.device !== cpu) return false
    if ((tensor.address & misalignment) !== 0) return false
    view.setFloat64(at, tensor.pointer, true)
    at += step
  }
  for (let i = operandCount; i < types.length; i++) {
    const tensor = results[i - operandCount]!
    if (tensor.type !== types[i] || !tensor.gate.alive || tensor.device !== cpu) return false
    if ((tensor.address & misalignment) !== 0 || (tensor.segment.flags & READ_ONLY) !== 0) return false
    view.setFloat64(at, tensor.pointer, true)
    at += step
  }
  return true
}

/** The same, slowly, saying what is wrong. */
function patchEach(shape: CallShape, memory: CallMemory, operands: Tensors, results: Tensors): void {
  const { name, types, operandCount, misalignment } = shape
  checkCounts(shape, operands, results)
  types.forEach((type, i) => {
    const isResult = i >= operandCount
    const tensor: unknown = isResult ? results[i - operandCount] : operands[i]
    const place = isResult ? `result ${i - operandCount} of ${name}` : `operand ${i} of ${name}`
    const { pointer, segment } = checkTensor(tensor, type, misalignment, place)
    if (isResult && segment.readOnly) throw new ReadOnlyError(`${place} must be writable, its memory is read-only`)
    memory.view.setFloat64(memory.firstPointer + i * memory.step, pointer, true)
  })
}

function checkCounts({ name, types, operandCount }: CallShape, operands: Tensors, results: Tensors): void {
  const resultCount = types.length - operandCount
  if (
    Array.isArray(operands) &&
    Array.isArray(results) &&
    operands.length === operandCount &&
    results.length === resultCount
  ) {
    return
  }
  const found = [operands, results].map((list) => (Array.isArray(list) ? String(list.length) : describe(list)))
  throw new ArgumentError(
    `${name} is prepared for ${operandCount} operands and ${resultCount} results, got ${found.join(' and ')}`,
    {
      hint: 'pass arrays of tensors, in the order of the types that the call was prepared with.',
    },
  )
}

function checkTensor(tensor: unknown, type: TensorType, misalignment: number, place: string): Tensor {
  if (!(tensor instanceof Tensor))
    throw new ArgumentError(`${place} must be a tensor of ${type}, got ${describe(tensor)}`)
  if (tensor.type !== type) {
    throw new ArgumentError(`${place} must be ${describeType(type)}, got ${describeType(tensor.type)}`, {
      hint: 'the call was prepared for one type: prepare another, or copy the tensor into one of that type.',
      details: { expected: String(type), actual: String(tensor.type) },
    })
  }
  if (!tensor.gate.alive) tensor.gate.owner.checkAlive()
  if (tensor.device.type !== cpu.type) {
    throw new ArgumentError(`${place} must be on the CPU, it is on device type ${tensor.device.type}`)
  }
  if ((tensor.address & misalignment) !== 0) {
    throw new AlignmentError(`${place} must start at a multiple of ${misalignment + 1} bytes`, {
      hint: 'the call was prepared with this alignment: allocate the memory accordingly.',
      details: { address: hex(tensor.address), alignment: misalignment + 1 },
    })
  }
  return tensor
}

function describeType(type: TensorType): string {
  const strides = type.strides === undefined ? '' : ` with strides [${type.strides.join(', ')}]`
  return `${type}${strides}${type.packing === 'packed' ? ', packed' : ''}`
}
