import { ReadOnlyError, type Tensor } from '@tenon/core'
import {
  type Block,
  checkEnterable,
  Cleaner,
  highWord,
  LAYOUTS,
  lowWord,
  nativeHolds,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { makeError, PackedFuncError } from '../errors/error-kinds.ts'
import { addForeign, drainReleased, foreignValues } from '../native/foreign.ts'
import { own, releaseOwned } from '../native/owned.ts'
import { TENSORS } from '../native/perform.ts'
import { openStack, type Action, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { release } from '../objects/native-object.ts'
import { ReadOnlyTensor } from '../values/wrappers.ts'
import { isPadded, writeDescription } from './description.ts'

const collected = new Cleaner<number>(releaseOwned)

/**
 * The tensor object of one tensor of `@tenon/core`, kept in its descriptor. It holds one reference, which is released when the
 * tensor is collected.
 */
export class TensorObject {
  readonly address: number
  /** The low 32 bits of the address, as an int32. */
  readonly lo: number
  /** The high 32 bits of the address, as an int32. */
  readonly hi: number
  /** The id that native code releases when an object over JavaScript's memory ends; 0 for a native tensor. */
  readonly id: number
  readonly isNative: boolean
  readonly place: number
  /** How far the object is handed over: see {@link handOver}. */
  private handed: 'no' | 'kept' | 'released' = 'no'

  constructor(address: number, id: number, isNative: boolean) {
    this.address = address
    this.lo = lowWord(address)
    this.hi = highWord(address)
    this.id = id
    this.isNative = isNative
    // The lifetime of its memory owns a native tensor.
    this.place = isNative ? 0 : own(address)
    if (!isNative) collected.watch(this, this.place, this)
  }

  /**
   * Keeps the tensor for native code, and releases the reference while native code has others, once no call borrows it. If a step fails,
   * because the stack of JavaScript is full, a repetition goes on from there.
   */
  handOver(stack: Stack, tensor: Tensor): void {
    if (this.handed === 'no') {
      keep(tensor, this.id, this.address)
      this.handed = 'kept'
    }
    if (this.handed === 'kept') {
      collected.forget(this)
      release(stack, this.place)
      this.handed = 'released'
    }
    forgetObject(tensor)
  }
}

/** The tensors of live tensor objects, by address: a tensor that is passed to native code is returned as itself. */
export const tensorOfObject: Map<number, WeakRef<Tensor>> = new Map()

/** The objects of read-only tensors, whose descriptors stay null, so that calls pass only tensors without a question that may be written. */
const readOnlyObjects = new WeakMap<Tensor, TensorObject>()

const isReadOnly = (tensor: Tensor): boolean => (tensor.flags & READ_ONLY) !== 0

/** Keeps the object of a tensor. */
export function setObject(tensor: Tensor, object: TensorObject): void {
  if (isReadOnly(tensor)) readOnlyObjects.set(tensor, object)
  else tensor.descriptor = object
}

const knownObject = (tensor: Tensor): TensorObject | undefined =>
  (tensor.descriptor as TensorObject | null) ?? readOnlyObjects.get(tensor)

function forgetObject(tensor: Tensor): void {
  if (tensor.descriptor === null) readOnlyObjects.delete(tensor)
  else tensor.descriptor = null
}

/** A `DLTensor` does not say that its memory must not be written. @throws {ReadOnlyError} */
export function refuseReadOnly(): never {
  throw new ReadOnlyError('a tensor must be writable, got read-only memory', {
    hint: 'Pass readOnly(x) if the function only reads x, or a copy, x.copy().',
  })
}

/** The number of arguments of a call that the mask of tensors covers. */
export const MASKED_ARGUMENTS = 30

/**
 * Packs a tensor as a tensor object over its memory, which is created once for each tensor, and counts a call in its gate. After
 * the call the caller hands over the tensors that native code kept, and takes the call away.
 *
 * @throws {ScopeClosedError} from the moment that closing of its memory begins, and if the buffer of the memory was transferred.
 * @throws {ReadOnlyError} if the tensor is read-only.
 */
export function lendTensor(stack: Stack, slot: number, tensor: Tensor, isOnlyRead = false): void {
  const object = objectOf(stack, slot, tensor, isOnlyRead)
  stack.lend(slot, TypeIndex.Tensor, object.lo, object.hi)
  const { gate } = tensor
  // Destructors, which may have run meanwhile, can close it.
  if (!gate.open) gate.owner.checkOpen()
  gate.calls++
}

/** Packs the address of the tensor's DLTensor, which the call borrows. @throws as {@link lendTensor} */
export function packTensorView(stack: Stack, slot: number, tensor: Tensor, isOnlyRead = false): void {
  const object = objectOf(stack, slot, tensor, isOnlyRead)
  tensor.gate.enter()
  stack.undo.push(tensor.gate)
  stack.setPointer(slot, TypeIndex.DLTensorPtr, object.address + LAYOUTS.TVMFFIObject.size)
}

/**
 * Packs a tensor that native code may keep. The call releases the object at its end, and the memory is held until native code
 * releases it too.
 *
 * @param isOnlyRead whether the tensor may be read-only, because native code is told so or only reads it. @throws as {@link lendTensor}
 */
export function packTensor(stack: Stack, slot: number, tensor: Tensor, isOnlyRead = false): void {
  checkMemory(tensor)
  if (!isOnlyRead && isReadOnly(tensor)) refuseReadOnly()
  const known = knownObject(tensor)
  if (known?.isNative) {
    stack.host.tn_packed_retain(known.address)
    stack.setPointer(slot, TypeIndex.Tensor, known.address)
  } else {
    const id = create(stack, slot, tensor)
    keep(tensor, id, stack.pointer(slot))
  }
  stack.releaseLater(slot)
}

/** @throws {ArgumentError} for an object that only inherits from the class. @throws {ScopeClosedError} */
function checkMemory(tensor: Tensor): void {
  const block = tensor.block as Block | undefined
  if (block === undefined) throw wrongType('a tensor', 'the result of tensor() or of a call', tensor)
  checkEnterable(block)
}

function objectOf(stack: Stack, slot: number, tensor: Tensor, isOnlyRead: boolean): TensorObject {
  checkMemory(tensor)
  if (!isOnlyRead && isReadOnly(tensor)) refuseReadOnly()
  const known = knownObject(tensor)
  if (known !== undefined) return known
  const id = create(stack, slot, tensor)
  const address = stack.pointer(slot)
  const object = new TensorObject(address, id, false)
  setObject(tensor, object)
  tensorOfObject.set(address, new WeakRef(tensor))
  foreignValues.set(id, () => tensorOfObject.delete(address))
  return object
}

/** Returns the id that native code releases when the object ends. */
function create(stack: Stack, slot: number, tensor: Tensor): number {
  const { text } = stack
  const id = addForeign()
  try {
    // A failed attempt has queued the id already.
    if (stack.host.tn_packed_tensor_create(stack.slotAddress(slot), writeDescription(stack, tensor, id)) !== 0)
      throw refusal(tensor, takeError(stack, slot))
  } finally {
    stack.text = text
  }
  // An earlier object may have had this address.
  drainReleased(stack)
  return id
}

/** Adds a hint to the error for a tensor that native code refuses, if its type is the reason. */
function refusal({ type }: Tensor, error: unknown): unknown {
  if (!isPadded(type) || !(error instanceof PackedFuncError)) return error
  return makeError(error.kind, error.sentence, { hint: "Make it with { packing: 'packed' }.", cause: error })
}

/** Keeps a tensor and its memory for native code, until it releases the id. */
function keep(tensor: Tensor, id: number, address: number): void {
  const { gate } = tensor
  tensorOfObject.set(address, new WeakRef(tensor))
  foreignValues.set(id, () => {
    gate.exit()
    nativeHolds.count--
    keptTensors.delete(tensor)
    tensorOfObject.delete(address)
  })
  nativeHolds.takers.add(takeReleased)
  keptTensors.add(tensor)
  // The last step, because the others can be repeated. The caller may have entered before closing began, which waits for it and then for
  // native code.
  gate.reenter()
  nativeHolds.count++
}

const takeReleased = (): void => drainReleased(openStack())

/** References to kept tensors, which keep memory alive that the garbage collector owns. */
const keptTensors = new Set<Tensor>()

/**
 * Hands the objects of the tensors that native code kept during a call over to native code.
 *
 * @param values the arguments of the call, because native code may have overwritten their slots.
 * @throws {RangeError} if the stack of JavaScript is full. The mask keeps the tensors that are left.
 */
export function handOver(stack: Stack, values: readonly unknown[]): void {
  const { head } = stack
  for (let i = 0; i < MASKED_ARGUMENTS; i++) {
    if ((head[TENSORS]! & (1 << i)) === 0) continue
    const value = values[i]
    const tensor = value instanceof ReadOnlyTensor ? value.tensor : (value as Tensor)
    const object = knownObject(tensor)
    // A native tensor needs no keeping, and the same tensor may have been passed twice.
    if (object !== undefined && !object.isNative) object.handOver(stack, tensor)
    head[TENSORS]! &= ~(1 << i)
  }
}

/** The tensor arguments of a call that has ended before they were handed over. Their gates count the call until then. */
export interface LentTensors extends Action {
  readonly values: readonly unknown[]
  readonly tensors: number
  /** As the mask of {@link TENSORS} after the call. */
  kept: number
}

/** Hands tensors over, and takes the call away from their gates: the action of {@link LentTensors}. */
export function settleTensors(stack: Stack, lent: LentTensors): void {
  const { head } = stack
  const { values, tensors } = lent
  // Destructors of calls around this one may run meanwhile.
  const outer = head[TENSORS]!
  head[TENSORS] = lent.kept
  try {
    handOver(stack, values)
  } finally {
    lent.kept = head[TENSORS]!
    head[TENSORS] = outer
  }
  for (let i = 0; tensors >> i !== 0; i++) if (((tensors >> i) & 1) !== 0) (values[i] as Tensor).gate.calls--
}
