import { gcAllocator, Segment, Tensor, type TensorType } from '@tenon/core'
import { Block, bufferOver, ManagedLifetime, READ_ONLY } from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/packed-func-error.ts'
import { drainReleased } from '../native/foreign.ts'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject } from '../objects/native-object.ts'
import type { Value } from '../values/argument.ts'
import { readDescription, type Description } from './description.ts'
import { TensorObject, tensorOfObject } from './tensor-object.ts'

const CPU = 1

/** References of tensor objects whose memory nothing of JavaScript reaches any more. */
const collected = new FinalizationRegistry<number>(releaseObject)

function releaseObject(address: number): void {
  if (tensorOfObject.get(address)?.deref()?.gate.alive !== true) tensorOfObject.delete(address)
  openStack().host.release(address)
}

/**
 * The lifetime of memory that a native tensor owns. Closing it ends all views and gives the tensor object back; without
 * closing, the garbage collector does so when the last view is gone.
 */
class NativeTensorLifetime extends ManagedLifetime {
  readonly #buffer: WeakRef<ArrayBuffer>
  readonly #object: number

  /** @param object takes over a reference of this tensor object; 0 for memory that is only lent */
  constructor(buffer: ArrayBuffer, object: number) {
    super()
    this.#buffer = new WeakRef(buffer)
    this.#object = object
    if (object !== 0) collected.register(buffer, object, this)
  }

  protected override get label(): string {
    return this.#object === 0 ? 'the tensor that was lent to a callback' : 'the memory of a native tensor'
  }

  /** Ends it although something may hold it. */
  abandon(): void {
    try {
      this[Symbol.dispose]()
    } catch {
      this.#detach()
    }
  }

  /** Ends every view that JavaScript has of the memory. */
  #detach(): void {
    this.#buffer.deref()?.transfer(0)
  }

  protected override release(): void {
    this.#detach()
    if (this.#object === 0) return
    collected.unregister(this)
    releaseObject(this.#object)
  }
}

/** The tensor of a tensor object: the one that was passed, or one over native memory. Takes over a reference. */
export function tensorOf(stack: Stack, address: number): Value {
  drainReleased(stack)
  const known = tensorOfObject.get(address)?.deref()
  if (known !== undefined) {
    stack.host.release(address)
    return known
  }
  if (stack.host.describeTensor(stack.address, address) !== 0) return new NativeObject(TypeIndex.Tensor, address)
  const description = readDescription(stack)
  const { type, device } = description
  const isReadable = device.type === CPU && (description.address !== 0 || type?.byteSize === 0)
  if (type === undefined || !isReadable) return new NativeObject(TypeIndex.Tensor, address)
  if (type.byteSize === 0) {
    stack.host.release(address)
    return new Tensor(gcAllocator.allocate(0, 16), type, device)
  }
  const made = overNative(description, type, address)
  made.descriptor = new TensorObject(address, 0, true)
  tensorOfObject.set(address, new WeakRef(made))
  return made
}

function overNative({ address, device, readOnly }: Description, type: TensorType, object: number): Tensor {
  const buffer = bufferOver(address, type.byteSize)
  const lifetime = new NativeTensorLifetime(buffer, object)
  const block = new Block(lifetime.gate, new DataView(buffer), Buffer.from(buffer), address)
  if (object === 0) borrowed.push(lifetime)
  return new Tensor(new Segment(block, 0, type.byteSize, readOnly ? READ_ONLY : 0), type, device)
}

/** The lifetimes of tensors that were lent to the callbacks in progress. */
const borrowed: NativeTensorLifetime[] = []

export const borrowedTensors: readonly ManagedLifetime[] = borrowed

/** When a callback ends: the tensors lent to it, from `count` on, end with it. @throws if something still holds one */
export function endBorrowing(count: number): void {
  while (borrowed.length > count) {
    borrowed.at(-1)!.close()
    borrowed.pop()
  }
}

/** As {@link endBorrowing}, when a callback failed: JavaScript loses sight of the memory, whatever holds the tensor. */
export function abandonBorrowed(count: number): void {
  while (borrowed.length > count) borrowed.pop()!.abandon()
}

/** A tensor over a DLTensor that native code lends for the time of a callback. */
export function borrowedTensor(stack: Stack, address: number): Tensor {
  const fits = stack.host.describeView(stack.address, address) === 0
  stack.words[6] = 0n
  const description = fits ? readDescription(stack) : undefined
  if (description?.type === undefined || description.device.type !== CPU) {
    throw new PackedFuncTypeError('TypeError', 'a tensor that is lent must be on the CPU and have plain elements')
  }
  const { type, device } = description
  if (type.byteSize > 0 && description.address === 0)
    throw new PackedFuncTypeError('TypeError', 'a tensor that is lent must have memory, its data is null')
  return type.byteSize === 0 ? new Tensor(gcAllocator.allocate(0, 16), type, device) : overNative(description, type, 0)
}
