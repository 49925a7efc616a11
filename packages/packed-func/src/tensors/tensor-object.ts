import type { Tensor } from '@tenon/core'
import { Cleaner, pointerBits } from '@tenon/core/internal'
import { openStack, type Stack } from '../native/stack.ts'
import { release } from '../objects/native-object.ts'

const collected = new Cleaner<number>((address) => openStack().host.tn_packed_release(address))

/**
 * The tensor object of one tensor of `@tenon/core`, kept in its descriptor. It holds one reference, which is released when the
 * tensor is collected.
 */
export class TensorObject {
  readonly address: number
  /** The address as the bits of a float64. */
  readonly pointer: number
  /** The id that native code releases when an object over JavaScript's memory ends; 0 for a native tensor. */
  readonly id: number
  /** Whether native code created the tensor and owns its memory. */
  readonly isNative: boolean

  constructor(address: number, id: number, isNative: boolean) {
    this.address = address
    this.pointer = pointerBits(address)
    this.id = id
    this.isNative = isNative
    if (!isNative) collected.watch(this, address, this)
  }

  /** Releases the reference while native code has others, once no call borrows it. */
  surrender(stack: Stack): void {
    collected.forget(this)
    release(stack, this.address)
  }
}

/** The tensors of live tensor objects, by address: a tensor that is passed to native code is returned as itself. */
export const tensorOfObject: Map<number, WeakRef<Tensor>> = new Map()
