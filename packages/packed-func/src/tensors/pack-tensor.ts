import type { Tensor } from '@tenon/core'
import { takeError } from '../errors/crossing.ts'
import { drainReleased, foreignValues } from '../native/foreign.ts'
import { TENSORS, type Stack } from '../native/stack.ts'
import { TENSOR_TAG, TypeIndex } from '../native/type-index.ts'
import { writeDescription } from './description.ts'
import { TensorObject, tensorOfObject } from './tensor-object.ts'

/** Where a DLTensor begins in a tensor object. */
const DLTENSOR_OFFSET = 24

/** How many arguments of a call can be told to be tensors. */
export const MASKED_ARGUMENTS = 30

/**
 * Passes a tensor as a tensor object over its memory, which is made once for each tensor, and holds the memory open: the
 * caller counts the hold down after the call, and hands over what native code kept.
 */
export function lendTensor(stack: Stack, slot: number, tensor: Tensor): void {
  const { gate } = tensor
  if (!gate.open) gate.owner.checkOpen()
  const object = (tensor.descriptor ?? makeObject(stack, slot, tensor)) as TensorObject
  stack.f64[slot * 2] = TENSOR_TAG
  stack.f64[slot * 2 + 1] = object.pointer
  gate.enter()
}

/** Passes the address of the tensor's DLTensor, which is only lent. */
export function packTensorView(stack: Stack, slot: number, tensor: Tensor): void {
  const { gate } = tensor
  if (!gate.open) gate.owner.checkOpen()
  const object = (tensor.descriptor ?? makeObject(stack, slot, tensor)) as TensorObject
  gate.enter()
  stack.undo.push(gate)
  stack.setPointer(slot, TypeIndex.DLTensorPtr, object.address + DLTENSOR_OFFSET)
}

/** Passes a tensor that native code may keep: the object is given back after the call, and the memory held until then. */
export function packTensor(stack: Stack, slot: number, tensor: Tensor): void {
  const { gate } = tensor
  if (!gate.open) gate.owner.checkOpen()
  const known = tensor.descriptor as TensorObject | null
  if (known?.isNative) {
    stack.host.retain(known.address)
    stack.setPointer(slot, TypeIndex.Tensor, known.address)
  } else {
    const id = create(stack, slot, tensor)
    keep(tensor, id, stack.pointer(slot))
  }
  stack.undo.push(slot)
}

function makeObject(stack: Stack, slot: number, tensor: Tensor): TensorObject {
  const id = create(stack, slot, tensor)
  const address = stack.pointer(slot)
  const object = new TensorObject(address, id, false)
  tensor.descriptor = object
  tensorOfObject.set(address, new WeakRef(tensor))
  foreignValues.onRelease(id, () => tensorOfObject.delete(address))
  return object
}

/** Makes the tensor object in the slot and returns the id that comes back when it ends. */
function create(stack: Stack, slot: number, tensor: Tensor): number {
  const { text } = stack
  const id = foreignValues.add()
  try {
    if (stack.host.createTensor(stack.slotAddress(slot), writeDescription(stack, tensor, id)) === 0) {
      // An earlier object may have had this address.
      drainReleased(stack)
      return id
    }
  } finally {
    stack.text = text
  }
  // The failed attempt has queued the id already.
  throw takeError(stack, slot)
}

/** Keeps a tensor and its memory for native code, until the id comes back. */
function keep(tensor: Tensor, id: number, address: number): void {
  const hold = tensor.segment.lifetime.acquire()
  tensorOfObject.set(address, new WeakRef(tensor))
  foreignValues.onRelease(id, () => {
    hold.release()
    // The reference from here keeps memory alive that the garbage collector owns.
    keptTensors.delete(tensor)
    tensorOfObject.delete(address)
  })
  keptTensors.add(tensor)
}

const keptTensors = new Set<Tensor>()

/** After a call in which native code kept tensors: hands their objects over to it. */
export function handOver(stack: Stack, base: number): void {
  const kept = stack.head[TENSORS]!
  stack.head[TENSORS] = 0
  for (let i = 0; i < MASKED_ARGUMENTS; i++) {
    if ((kept & (1 << i)) === 0) continue
    const tensor = tensorOfObject.get(stack.pointer(base + 1 + i))?.deref()
    const object = tensor?.descriptor as TensorObject | null | undefined
    // Native tensors may be shared; and the same tensor may have been passed twice.
    if (tensor === undefined || object === undefined || object === null || object.isNative) continue
    tensor.descriptor = null
    keep(tensor, object.id, object.address)
    object.surrender(stack)
  }
}
