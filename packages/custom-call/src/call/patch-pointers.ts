import { AlignmentError, ArgumentError, ReadOnlyError, Tensor, type TensorType } from '@tenon/core'
import { checkEnterable, describe, hex, READ_ONLY, wrongType, type Gated } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { Tensors } from './call-target.ts'

/** The index of the first tensor among the operands of a run, behind the call and its library. */
export const FIRST_TENSOR = 2

/**
 * Checks the tensors of a run, writes their pointers into the call's memory, and puts them into `held`, behind the call
 * and its library. Changes of the caller's own arrays have no effect from here on. Nothing is held yet, so it may throw.
 *
 * @throws {ArgumentError} if a tensor is missing or has another type. @throws {ScopeClosedError} if its memory is closed.
 * @throws {ReadOnlyError} if a result is read-only. @throws {AlignmentError} if memory is not aligned as required.
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
    // One of the tensors is null or undefined. The slow path below explains which.
  }
  patchEach(shape, memory, held, operands, results)
}

/**
 * The fast path of every run. It returns false, without a reason, if anything looks wrong. It does not test whether each
 * tensor exists, because four tests cost as much as writing four pointers. Exposed memory that is empty may be detached,
 * which the slow path finds out: isDetached() would cost 5 ns for each tensor.
 */
function patchedAll(shape: CallShape, memory: CallMemory, held: Gated[], operands: Tensors, results: Tensors): boolean {
  const { types, operandCount, misalignment, deviceType, aliases } = shape
  const { words, places } = memory
  if (operands.length !== operandCount || results.length !== types.length - operandCount) return false
  for (let i = 0; i < operandCount; i++) {
    const tensor = operands[i]!
    if (tensor.type !== types[i] || !tensor.gate.open || tensor.device.type !== deviceType) return false
    if ((tensor.lo & misalignment) !== 0) return false
    const { block } = tensor.segment
    if (block.exposed && block.bytes.length === 0) return false
    const place = places[i]!
    words[place] = tensor.lo
    words[place + 1] = tensor.hi
    held[FIRST_TENSOR + i] = tensor
  }
  for (let i = operandCount; i < types.length; i++) {
    const tensor = results[i - operandCount]!
    if (tensor.type !== types[i] || !tensor.gate.open || tensor.device.type !== deviceType) return false
    const { block, flags } = tensor.segment
    if ((tensor.lo & misalignment) !== 0 || (flags & READ_ONLY) !== 0) return false
    if (block.exposed && block.bytes.length === 0) return false
    const place = places[i]!
    words[place] = tensor.lo
    words[place + 1] = tensor.hi
    held[FIRST_TENSOR + i] = tensor
  }
  return aliases.length === 0 || areAliased(shape, held)
}

function areAliased({ aliases, operandCount }: CallShape, held: readonly Gated[]): boolean {
  const address = (index: number): number => (held[FIRST_TENSOR + index] as Tensor).address
  return aliases.every(({ operand, result }) => address(operand) === address(operandCount + result))
}

function patchEach(shape: CallShape, memory: CallMemory, held: Gated[], operands: Tensors, results: Tensors): void {
  const { name, types, operandCount } = shape
  checkCounts(shape, operands, results)
  types.forEach((type, i) => {
    const isResult = i >= operandCount
    const given: unknown = isResult ? results[i - operandCount] : operands[i]
    const place = isResult ? `result ${i - operandCount} of ${name}` : `operand ${i} of ${name}`
    const tensor = checkTensor(given, type, shape, place)
    if (isResult && tensor.segment.readOnly) {
      throw new ReadOnlyError(`${place} must be writable, got read-only memory`, { details: { path: place } })
    }
    const at = memory.places[i]!
    memory.words[at] = tensor.lo
    memory.words[at + 1] = tensor.hi
    held[FIRST_TENSOR + i] = tensor
  })
  if (!areAliased(shape, held)) {
    throw new ArgumentError(`aliased results of ${name} must be in the memory of their operands, got other memory`, {
      hint: 'Pass the tensor of the operand as the result as well.',
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
      hint: 'Pass arrays of tensors, in the order of the types that the call was prepared with; tuples as their members.',
    },
  )
}

function checkTensor(
  tensor: unknown,
  type: TensorType,
  { misalignment, deviceType }: CallShape,
  place: string,
): Tensor {
  if (!(tensor instanceof Tensor)) throw wrongType(place, `a tensor of ${type}`, tensor)
  if (tensor.type !== type) {
    throw new ArgumentError(`${place} must be ${describeType(type)}, got ${describeType(tensor.type)}`, {
      hint: 'Prepare another call for this type, or copy the tensor into one of the expected type.',
      details: { path: place, expected: String(type), received: String(tensor.type) },
    })
  }
  checkEnterable(tensor.segment.block)
  if (tensor.device.type !== deviceType) {
    const where = deviceType === 1 ? 'on the CPU' : `on device type ${deviceType}`
    throw new ArgumentError(`${place} must be ${where}, got device type ${tensor.device.type}`, {
      details: { path: place, expected: deviceType, received: tensor.device.type },
    })
  }
  if ((tensor.lo & misalignment) !== 0) {
    throw new AlignmentError(
      `${place} must start at a multiple of ${misalignment + 1} bytes, got ${hex(tensor.address)}`,
      {
        hint: 'Allocate the memory with the alignment that the call was prepared with.',
        details: { path: place, expected: misalignment + 1, received: hex(tensor.address) },
      },
    )
  }
  return tensor
}

function describeType(type: TensorType): string {
  const strides = type.strides === undefined ? '' : ` with strides [${type.strides.join(', ')}]`
  return `${type}${strides}${type.packing === 'packed' ? ', packed' : ''}`
}
