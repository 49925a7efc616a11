import type { Tensor } from '@tenon/core'
import { pointerBits } from '@tenon/core/internal'
import { openStack, type Stack } from '../native/stack.ts'
import { release } from '../objects/native-object.ts'

const collected = new FinalizationRegistry<number>((address) => openStack().host.release(address))

/**
 * The tensor object of one tensor of `@tenon/core`, kept in its descriptor: one reference. The garbage collector gives it
 * back with the tensor.
 */
export class TensorObject {
  readonly address: number
  /** The address as the bits of a float64. */
  readonly pointer: number
  /** The id that comes back when the object over JavaScript's memory ends; 0 for a native one. */
  readonly id: number
  /** Whether native code made it and owns the memory. */
  readonly isNative: boolean

  constructor(address: number, id: number, isNative: boolean) {
    this.address = address
    this.pointer = pointerBits(address)
    this.id = id
    this.isNative = isNative
    if (!isNative) collected.register(this, address, this)
  }

  /** Gives the reference back while native code has others, when no call borrows it any more. */
  surrender(stack: Stack): void {
    collected.unregister(this)
    release(stack, this.address)
  }
}

/** The tensors of the objects that live, by address: what goes out comes back as the same tensor. */
export const tensorOfObject: Map<number, WeakRef<Tensor>> = new Map()
