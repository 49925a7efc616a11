import { AlignmentError, ArgumentError, ReadOnlyError, Tensor, type TensorType } from '@tenon/core'
import { checkEnterable, describe, hex, READ_ONLY, type Gated } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { Tensors } from './call-target.ts'

/** What a run holds before its tensors: see {@link patchPointers}. */
export const FIRST_TENSOR = 2

/**
 * Checks the tensors of a run, writes their pointers into the call's memory, and puts them into `held`, behind the call
 * and its library: from here on the caller's own arrays don't matter, whoever changes them. Nothing is held yet, so it
 * may throw.
 *
 * @throws {ArgumentError} if a tensor is missing or of another type. @throws {ScopeClosedError} if its memory is dead.
 * @throws {ReadOnlyError} if a result can't be written. @throws {AlignmentError} if memory is not aligned as asked.
 */
export function patchPointers(
  shape: CallShape,
  memory: CallMemory,
  held: Gated[],
  operands: Tensors,
  results: Tensors,
): void {
  try {
    if (patchedAll(shape, memory, held, operands, results)) return
  } catch {
    // Something among the tensors has no properties to read, not even missing ones: told below.
  }
  patchEach(shape, memory, held, operands, results)
}

/**
 * The way of every run: false, without a reason, if anything looks wrong. It does not ask whether a tensor is there at
 * all: four questions cost as much as writing four pointers.
 */
function patchedAll(shape: CallShape, memory: CallMemory, held: Gated[], operands: Tensors, results: Tensors): boolean {
  const { types, operandCount, misalignment, deviceType, aliases } = shape
  const { view, places } = memory
  if (operands.length !== operandCount || results.length !== types.length - operandCount) return false
  for (let i = 0; i < operandCount; i++) {
    const tensor = operands[i]!
    if (tensor.type !== types[i] || !tensor.gate.open || tensor.device.type !== deviceType) return false
    if ((tensor.address & misalignment) !== 0) return false
    const { block } = tensor.segment
    if (block.exposed && block.bytes.length === 0) return false // a user transferred the buffer away
    view.setFloat64(places[i]!, tensor.pointer, true)
    held[FIRST_TENSOR + i] = tensor
  }
  for (let i = operandCount; i < types.length; i++) {
    const tensor = results[i - operandCount]!
    if (tensor.type !== types[i] || !tensor.gate.open || tensor.device.type !== deviceType) return false
    const { block, flags } = tensor.segment
    if ((tensor.address & misalignment) !== 0 || (flags & READ_ONLY) !== 0) return false
    if (block.exposed && block.bytes.length === 0) return false
    view.setFloat64(places[i]!, tensor.pointer, true)
    held[FIRST_TENSOR + i] = tensor
  }
  return aliases.length === 0 || areAliased(shape, held)
}

function areAliased({ aliases, operandCount }: CallShape, held: readonly Gated[]): boolean {
  const address = (index: number): number => (held[FIRST_TENSOR + index] as Tensor).address
  return aliases.every(({ operand, result }) => address(operand) === address(operandCount + result))
}

/** The same, slowly, saying what is wrong. */
function patchEach(shape: CallShape, memory: CallMemory, held: Gated[], operands: Tensors, results: Tensors): void {
  const { name, types, operandCount } = shape
  checkCounts(shape, operands, results)
  types.forEach((type, i) => {
    const isResult = i >= operandCount
    const given: unknown = isResult ? results[i - operandCount] : operands[i]
    const place = isResult ? `result ${i - operandCount} of ${name}` : `operand ${i} of ${name}`
    const tensor = checkTensor(given, type, shape, place)
    if (isResult && tensor.segment.readOnly) {
      throw new ReadOnlyError(`${place} must be writable, its memory is read-only`)
    }
    memory.view.setFloat64(memory.places[i]!, tensor.pointer, true)
    held[FIRST_TENSOR + i] = tensor
  })
  if (!areAliased(shape, held)) {
    throw new ArgumentError(`aliased results of ${name} must lie where their operands do, got other memory`, {
      hint: 'pass the tensor of the operand as the result as well.',
      details: { aliases: shape.aliases },
    })
  }
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
      hint: 'pass arrays of tensors, in the order of the types that the call was prepared with; tuples as their members.',
    },
  )
}

function checkTensor(
  tensor: unknown,
  type: TensorType,
  { misalignment, deviceType }: CallShape,
  place: string,
): Tensor {
  if (!(tensor instanceof Tensor))
    throw new ArgumentError(`${place} must be a tensor of ${type}, got ${describe(tensor)}`)
  if (tensor.type !== type) {
    throw new ArgumentError(`${place} must be ${describeType(type)}, got ${describeType(tensor.type)}`, {
      hint: 'the call was prepared for one type: prepare another, or copy the tensor into one of that type.',
      details: { expected: String(type), actual: String(tensor.type) },
    })
  }
  checkEnterable(tensor.segment.block)
  if (tensor.device.type !== deviceType) {
    const where = deviceType === 1 ? 'on the CPU' : `on device type ${deviceType}`
    throw new ArgumentError(`${place} must be ${where}, it is on device type ${tensor.device.type}`)
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
