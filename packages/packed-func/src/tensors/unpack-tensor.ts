import { gcAllocator, Segment, Tensor, type TensorType } from '@tenon/core'
import {
  Block,
  bufferOver,
  copiedBuffer,
  Cleaner,
  CONSTANTS,
  hasNativeBuffers,
  hex,
  lentBuffer,
  type LentBuffer,
  ManagedLifetime,
  READ_ONLY,
  stringsOfBytes,
  typedArrayClass,
} from '@tenon/core/internal'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { drainReleased } from '../native/foreign.ts'
import { own, ownedAddress, releaseOwned } from '../native/owned.ts'
import type { Stack } from '../native/stack.ts'
import { NativeTensor } from '../objects/native-tensor.ts'
import type { Value } from '../values/argument.ts'
import { readDescription, type Description } from './description.ts'
import { setObject, TensorObject, tensorOfObject } from './pack-tensor.ts'

const CPU: number = CONSTANTS.kDLCPU

/** Releases tensor objects whose memory JavaScript cannot reach any more. */
const collected = new Cleaner<number>(releaseObject)

function releaseObject(place: number): void {
  const address = ownedAddress(place)
  if (tensorOfObject.get(address)?.deref()?.gate.alive !== true) tensorOfObject.delete(address)
  releaseOwned(place)
}

/**
 * The lifetime of memory that a native tensor owns. Closing it detaches all views and releases the tensor object. If it is not
 * closed, the object is released once the last view is collected.
 */
class NativeTensorLifetime extends ManagedLifetime {
  readonly #buffer: WeakRef<ArrayBuffer>
  readonly #lent: LentBuffer | undefined
  /** The place of the reference to the tensor object; 0 for borrowed memory. */
  readonly #place: number

  /** @param object a tensor object, whose reference is taken over; 0 for borrowed memory, which is `lent` */
  constructor(buffer: ArrayBuffer, object: number, lent?: LentBuffer) {
    super()
    this.#buffer = new WeakRef(buffer)
    this.#lent = lent
    this.#place = object === 0 ? 0 : own(object)
    if (object !== 0) collected.watch(buffer, this.#place, this)
  }

  protected override get label(): string {
    return this.#place === 0 ? 'the tensor that a callback borrowed' : 'the memory of a native tensor'
  }

  /** Closes the lifetime, or only detaches its memory if it is held. */
  abandon(): void {
    try {
      this[Symbol.dispose]()
    } catch {
      this.#detach()
    }
  }

  #detach(): void {
    if (this.#lent === undefined) this.#buffer.deref()?.transfer(0)
    else this.#lent.end()
  }

  protected override release(): void {
    this.#detach()
    if (this.#place === 0) return
    collected.forget(this)
    releaseObject(this.#place)
  }
}

/**
 * The tensor of a tensor object: the one that was passed, with the strings of a string tensor, or a new one over native memory. Takes over a
 * reference. @throws {ArgumentError} if native code has damaged the strings
 */
export function tensorOf(stack: Stack, address: number): Value {
  drainReleased(stack)
  const known = tensorOfObject.get(address)?.deref()
  if (known !== undefined) {
    stack.release(address)
    return stringsOfBytes(known) ?? known
  }
  if (stack.host.tn_packed_describe_tensor(stack.address, address) !== 0)
    return new NativeTensor(address, TOO_MANY_AXES)
  const description = readDescription(stack)
  const type = readableType(description)
  if (typeof type === 'string') return new NativeTensor(address, type)
  if (type.byteSize === 0 || !hasNativeBuffers()) {
    const copy = copyOf(description, type)
    stack.release(address)
    return copy
  }
  const buffer = bufferOver(description.address, type.byteSize)
  const lifetime = new NativeTensorLifetime(buffer, address)
  const made = overNative(description, type, blockOver(lifetime, { buffer, address: description.address }))
  setObject(made, new TensorObject(address, 0, true))
  tensorOfObject.set(address, new WeakRef(made))
  return made
}

const TOO_MANY_AXES = 'its axes must fit into the argument stack, got more'

/** Returns the type of a tensor, or the reason why it cannot be read. The elements of an empty tensor are never read. */
function readableType({ type, device, address }: Description): TensorType | string {
  if (device.type !== CPU) return `its memory must be on the CPU, got device type ${device.type} of DLPack`
  if (typeof type === 'string' || type.byteSize === 0) return type
  if (address === 0) return 'its data must not be null'
  const alignment = typedArrayClass(type.dtype).BYTES_PER_ELEMENT
  return address % alignment === 0 ? type : `its memory must be aligned to ${alignment} bytes, got ${hex(address)}`
}

const blockOver = (
  { gate }: NativeTensorLifetime,
  { buffer, address }: Pick<LentBuffer, 'buffer' | 'address'>,
): Block => new Block(gate, new DataView(buffer), Buffer.from(buffer), address)

function overNative({ device, readOnly }: Description, type: TensorType, block: Block): Tensor {
  return new Tensor(new Segment(block, 0, type.byteSize, readOnly ? READ_ONLY : 0), type, device)
}

/** A tensor with a copy of the elements, which it alone has: nothing else sees its writes. */
function copyOf({ address, device, readOnly }: Description, type: TensorType): Tensor {
  const { block, base, byteSize } = gcAllocator.allocate(type.byteSize, 16)
  block.bytes.set(new Uint8Array(copiedBuffer(address, byteSize)), base)
  return new Tensor(new Segment(block, base, byteSize, readOnly && byteSize > 0 ? READ_ONLY : 0), type, device)
}

const borrowed: NativeTensorLifetime[] = []

export const borrowedTensors: readonly ManagedLifetime[] = borrowed

/** Closes the tensors that a callback borrowed, from `count` on. @throws {ScopeHeldError} if one is still held. */
export function endBorrowing(count: number): void {
  while (borrowed.length > count) {
    borrowed.at(-1)![Symbol.dispose]()
    borrowed.pop()
  }
}

/** As {@link endBorrowing} for a callback that failed: a tensor that is still held loses its memory. */
export function abandonBorrowed(count: number): void {
  while (borrowed.length > count) borrowed.pop()!.abandon()
}

/** A tensor over a DLTensor that a callback borrows. */
export function borrowedTensor(stack: Stack, address: number): Tensor {
  const isReadable = stack.host.tn_packed_describe_view(stack.address, address) === 0
  stack.words[6] = 0n
  const description = isReadable ? readDescription(stack) : undefined
  const type = description === undefined ? TOO_MANY_AXES : readableType(description)
  if (description === undefined || typeof type === 'string')
    throw new PackedFuncTypeError('TypeError', `a borrowed tensor cannot be read: ${String(type)}`)
  if (type.byteSize === 0) return copyOf(description, type)
  const lent = lentBuffer(description.address, type.byteSize, description.readOnly)
  const lifetime = new NativeTensorLifetime(lent.buffer, 0, lent)
  borrowed.push(lifetime)
  return overNative(description, type, blockOver(lifetime, lent))
}
