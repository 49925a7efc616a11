import {
  AlignmentError,
  ArgumentError,
  ReadOnlyError,
  ScopeClosedError,
  type Tensor,
  type TensorType,
} from '@tenon/core'
import { checkEnterable, describe, hex, READ_ONLY, refuseOverlaps, type Gate, type Gated } from '@tenon/core/internal'
import type { CallFrame } from '../native/call-frame.ts'
import { placeOf, type CallShape } from '../shape/call-shape.ts'
import { copyTensors, FIRST_TENSOR, isTensor, ownTensor, refuseTensor } from './operand-list.ts'

/** A prepared call, as far as its tensors are checked. */
export interface TensorUser {
  readonly gate: Gate
  readonly target: { readonly gate: Gate }
  readonly shape: CallShape
}

/**
 * Copies the tensors of a run into a list, behind places for the call and its library. The caller's own arrays are not read again.
 * Reading them can run code of the user, which can close memory, the call and the library, so everything is checked afterwards.
 *
 * @throws {ArgumentError} for another number of tensors. @throws what reading the arrays throws
 */
export function fillList(
  shape: CallShape,
  list: Gated[],
  operands: readonly unknown[],
  results: readonly unknown[],
): void {
  const { operandCount } = shape
  const resultCount = shape.types.length - operandCount
  if (operands?.length !== operandCount || results?.length !== resultCount) refuseCounts(shape, operands, results)
  copyTensors(list, operands, operandCount, results, resultCount)
}

/**
 * Puts tensors in the place of objects of other libraries in a list. Reading them can run code of the user.
 *
 * @returns whether there were some. @throws {ArgumentError} if their memory cannot be used without a copy
 */
export function adoptTensors(shape: CallShape, list: Gated[]): boolean {
  let isChanged = false
  for (let i = 0; i < shape.types.length; i++) {
    const given = list[FIRST_TENSOR + i]
    const tensor = ownTensor(given, placeOf(shape, i))
    if (tensor === given) continue
    list[FIRST_TENSOR + i] = tensor as Tensor
    isChanged = true
  }
  return isChanged
}

/** Whether each aliased result of a list is in the memory of its operand. */
export function areAliased({ aliases, operandCount }: CallShape, list: readonly Gated[]): boolean {
  const address = (index: number): number => (list[FIRST_TENSOR + index] as Tensor).address
  return aliases.every(({ operand, result }) => address(operand) === address(operandCount + result))
}

/**
 * Checks the tensors of a list one by one, finds out what is wrong, and writes the pointers into a frame. Operands that are not in
 * the layouts of the call are copied.
 *
 * @throws as {@link checkTensors}
 */
export function patchEach(call: TensorUser, frame: CallFrame, list: readonly Gated[]): void {
  const { types, misalignment } = call.shape
  checkTensors(call, list).forEach((tensor, i) => {
    const type = types[i]!
    const { lo, hi } = tensor.type === type ? tensor : frame.stage(i, type, misalignment + 1, tensor)
    const at = frame.places[i]!
    frame.words[at] = lo
    frame.words[at + 1] = hi
  })
}

/**
 * Checks the tensors of a run, behind places for the call and its library.
 *
 * @returns the tensors. An operand may be row-major although the call has a layout for it.
 * @throws {ArgumentError} if a tensor is missing or has another type. @throws {ScopeClosedError} if its memory, the call or
 * the library is closed. @throws {ReadOnlyError} if a result is read-only. @throws {AlignmentError} if memory is not aligned
 * as required.
 */
export function checkTensors({ gate, target, shape }: TensorUser, list: readonly Gated[]): readonly Tensor[] {
  if (!gate.open) gate.owner.checkOpen()
  if (!target.gate.open) target.gate.owner.checkOpen()
  const { name, types, operandCount, sources } = shape
  const tensors = types.map((type, i) => {
    const tensor = checkTensor(list[FIRST_TENSOR + i], type, shape, i, sources?.[i])
    if (i >= operandCount && (tensor.flags & READ_ONLY) !== 0) {
      const place = placeOf(shape, i)
      throw new ReadOnlyError(`${place} must be writable, got read-only memory`, { details: { path: place } })
    }
    return tensor
  })
  if (!areApart(tensors, operandCount)) refuseOverlaps(types, operandCount, tensors, (i) => placeOf(shape, i))
  if (shape.aliases.length > 0 && !areAliased(shape, list)) {
    throw new ArgumentError(`aliased results of ${name} must be in the memory of their operands, got other memory`, {
      hint: 'Pass the tensor of the operand as the result as well.',
      details: { aliases: shape.aliases },
    })
  }
  return tensors
}

/** Whether each result is apart from all other tensors. */
function areApart(tensors: readonly Tensor[], operandCount: number): boolean {
  for (let i = operandCount; i < tensors.length; i++) {
    const { address, type } = tensors[i]!
    const end = address + type.byteSize
    for (let j = 0; j < i; j++) {
      const other = tensors[j]!
      if (other.address < end && address < other.address + other.type.byteSize) return false
    }
  }
  return true
}

function refuseCounts({ name, types, operandCount }: CallShape, operands: unknown, results: unknown): never {
  const resultCount = types.length - operandCount
  const found = [operands, results].map((list) => (Array.isArray(list) ? String(list.length) : describe(list)))
  throw new ArgumentError(
    `${name} is prepared for ${operandCount} operands and ${resultCount} results, got ${found.join(' and ')}`,
    {
      hint: 'Pass arrays of tensors, in the order of the types that the call was prepared with; tuples as their members.',
    },
  )
}

/** Names the tensor only in errors. */
function checkTensor(
  tensor: unknown,
  type: TensorType,
  shape: CallShape,
  index: number,
  source: TensorType | undefined,
): Tensor {
  const { misalignment, deviceType } = shape
  if (!isTensor(tensor)) {
    const hint = `Make it with tensor('${type.dtype}', [${type.shape.join(', ')}], values).`
    refuseTensor(tensor, placeOf(shape, index), `a tensor of ${type}`, hint)
  }
  const isCopied = tensor.type === source
  if (tensor.type !== type && !isCopied) {
    const place = placeOf(shape, index)
    throw new ArgumentError(`${place} must be ${describeType(type)}, got ${describeType(tensor.type)}`, {
      hint: 'Prepare another call for this type, or copy the tensor into one of the expected type.',
      details: { path: place, expected: String(type), received: String(tensor.type) },
    })
  }
  checkOpen(tensor, shape, index)
  if (tensor.device.type !== deviceType) {
    const place = placeOf(shape, index)
    const where = deviceType === 1 ? 'on the CPU' : `on device type ${deviceType}`
    throw new ArgumentError(`${place} must be ${where}, got device type ${tensor.device.type}`, {
      hint:
        deviceType === 1
          ? 'Copy it from the device first.'
          : `Make it with tensor('${type.dtype}', [${type.shape.join(', ')}], memory, { device: { type: ${deviceType}, id: 0 } }) over memory of the device.`,
      details: { path: place, expected: deviceType, received: tensor.device.type },
    })
  }
  if ((tensor.lo & misalignment) !== 0 && !isCopied) {
    const place = placeOf(shape, index)
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

/** @throws {ScopeClosedError} that names the tensor if its memory is closed. */
function checkOpen({ block }: Tensor, shape: CallShape, index: number): void {
  try {
    checkEnterable(block)
  } catch (error) {
    if (!(error instanceof ScopeClosedError)) throw error
    const place = placeOf(shape, index)
    throw new ScopeClosedError(`${place} must have open memory, but ${error.sentence}`, {
      hint: error.hint,
      details: { ...error.details, path: place },
    })
  }
}

function describeType(type: TensorType): string {
  const strides = type.strides === undefined ? '' : ` with strides [${type.strides.join(', ')}]`
  return `${type}${strides}${type.packing === 'packed' ? ', packed' : ''}`
}
