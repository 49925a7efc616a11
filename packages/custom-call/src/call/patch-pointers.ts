import { AlignmentError, ArgumentError, ReadOnlyError, ScopeClosedError, Tensor, type TensorType } from '@tenon/core'
import { checkEnterable, describe, hex, READ_ONLY, type Gate, type Gated } from '@tenon/core/internal'
import type { CallMemory } from '../native/call-memory.ts'
import { placeOf, type CallShape } from '../shape/call-shape.ts'
import type { Tensors } from './call-target.ts'
import { stageOperand } from './staged-operands.ts'
import { copyTensors, FIRST_TENSOR, isTensor, refuseTensor } from './taken.ts'

/** A prepared call. */
interface Patched {
  readonly gate: Gate
  readonly target: { readonly gate: Gate }
  readonly shape: CallShape
}

type PatchHeld = (call: Patched, memory: CallMemory, held: readonly Gated[]) => boolean

/** Makes the function, whose constants are part of the compiled code. */
function makePatchHeld(): PatchHeld {
  const first = FIRST_TENSOR
  const readOnly = READ_ONLY
  const { isGenuine } = Tensor

  /**
   * Returns false, without a reason, if anything looks wrong. Exposed memory that is empty may be detached, which {@link patchEach}
   * finds out: isDetached() would cost 5 ns for each tensor.
   */
  const patchAll = (shape: CallShape, { words, places }: CallMemory, held: readonly Gated[]): boolean => {
    const { types, operandCount, misalignment, deviceType, aliases } = shape
    for (let i = 0; i < types.length; i++) {
      const tensor = held[first + i] as Tensor
      // First, because reading a Proxy runs code of the user.
      if (!isGenuine(tensor) || tensor.type !== types[i]) return false
      const { block, lo } = tensor
      if (!tensor.gate.open || tensor.device.type !== deviceType) return false
      if ((lo & misalignment) !== 0 || (i >= operandCount && (tensor.flags & readOnly) !== 0)) return false
      if (block.exposed && block.bytes.length === 0) return false
      const place = places[i]!
      words[place] = lo
      words[place + 1] = tensor.hi
    }
    return aliases.length === 0 || areAliased(shape, held)
  }

  return (call, memory, held) => {
    try {
      return patchAll(call.shape, memory, held) && call.gate.open && call.target.gate.open
    } catch {
      // One of the tensors is not an object.
      return false
    }
  }
}

/** Copies the tensors into `held`. @throws {ArgumentError} for another number of tensors. @throws what reading the arrays throws */
export function fillHeld(shape: CallShape, held: Gated[], operands: Tensors, results: Tensors): void {
  const { operandCount } = shape
  const resultCount = shape.types.length - operandCount
  if (operands?.length !== operandCount || results?.length !== resultCount) refuseCounts(shape, operands, results)
  copyTensors(held, operands, operandCount, results, resultCount)
}

/**
 * Checks the tensors in `held` and writes their pointers into the call's memory: the fast path of every run. No code of the user runs.
 *
 * @returns false if {@link patchEach} must do it, or find out what is wrong.
 */
export const patchHeld: PatchHeld = makePatchHeld()

/**
 * Takes the tensors of a run, checks them, and writes their pointers into the call's memory. `held` receives the tensors
 * behind the call and its library, and the caller's own arrays are not read again.
 *
 * Reading the arrays can run code of the user, which can close memory, the call and the library. Everything is therefore
 * checked after the last read. From there to the end no code of the user runs, so the caller can hold everything next.
 *
 * @throws {ArgumentError} if a tensor is missing or has another type. @throws {ScopeClosedError} if its memory, the call or
 * the library is closed. @throws {ReadOnlyError} if a result is read-only. @throws {AlignmentError} if memory is not aligned
 * as required. @throws what reading the arrays throws
 */
export function patchPointers(
  call: Patched,
  memory: CallMemory,
  held: Gated[],
  operands: Tensors,
  results: Tensors,
): void {
  fillHeld(call.shape, held, operands, results)
  if (!patchHeld(call, memory, held)) patchEach(call, memory, held)
}

/** Whether the tensors that were taken for a run have these types. A result that the call allocates has no tensor and no type. */
export function haveTypes(taken: readonly (Gated | undefined)[], types: readonly (TensorType | undefined)[]): boolean {
  for (let i = 0; i < types.length; i++) {
    const tensor = taken[FIRST_TENSOR + i] as Tensor | undefined
    if ((tensor === undefined ? undefined : tensor.type) !== types[i]) return false
  }
  return true
}

function areAliased({ aliases, operandCount }: CallShape, held: readonly Gated[]): boolean {
  const address = (index: number): number => (held[FIRST_TENSOR + index] as Tensor).address
  return aliases.every(({ operand, result }) => address(operand) === address(operandCount + result))
}

/** Does the same as {@link patchHeld}, and finds out what is wrong. @throws as {@link patchPointers} */
export function patchEach(call: Patched, memory: CallMemory, held: readonly Gated[]): void {
  const { types, misalignment } = call.shape
  checkTaken(call, held).forEach((tensor, i) => {
    const type = types[i]!
    const { lo, hi } = tensor.type === type ? tensor : stageOperand(memory, i, type, misalignment + 1, tensor)
    const at = memory.places[i]!
    memory.words[at] = lo
    memory.words[at + 1] = hi
  })
}

/**
 * Checks the tensors of a run, behind places for the call and its library.
 *
 * @returns the tensors. An operand may be row-major although the call has a layout for it.
 * @throws as {@link patchPointers}
 */
export function checkTaken({ gate, target, shape }: Patched, held: readonly Gated[]): readonly Tensor[] {
  gate.owner.checkOpen()
  target.gate.owner.checkOpen()
  const { name, types, operandCount, sources } = shape
  const tensors = types.map((type, i) => {
    const tensor = checkTensor(held[FIRST_TENSOR + i], type, shape, i, sources?.[i])
    if (i >= operandCount && (tensor.flags & READ_ONLY) !== 0) {
      const place = placeOf(shape, i)
      throw new ReadOnlyError(`${place} must be writable, got read-only memory`, { details: { path: place } })
    }
    return tensor
  })
  if (!areAliased(shape, held)) {
    throw new ArgumentError(`aliased results of ${name} must be in the memory of their operands, got other memory`, {
      hint: 'Pass the tensor of the operand as the result as well.',
      details: { aliases: shape.aliases },
    })
  }
  return tensors
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
