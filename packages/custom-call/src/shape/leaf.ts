import { TensorType } from '@tenon/core'
import { inspectAsText, wrongType } from '@tenon/core/internal'

/** The type of {@link token}. */
export interface Token {
  readonly kind: 'token'
}

/**
 * An operand or result without data, which compiled programs use to order calls. Typed handlers receive a buffer of type
 * TOKEN, and untyped functions receive a null pointer. Do not pass a tensor for a token to a run.
 */
export const token: Token = Object.freeze({ kind: 'token' })

/** A result that only the kernel uses. Created by {@link temp}. */
export class Temp {
  readonly type: TensorType

  /** @internal */
  constructor(type: TensorType) {
    this.type = type
  }

  toString(): string {
    return `temp(${this.type})`
  }
}
inspectAsText(Temp)

/**
 * Returns a result that is scratch memory for a kernel. The memory belongs to the prepared call and is aligned to 64 bytes,
 * and its contents are undefined at the start of each run. Do not pass a tensor for the scratch memory to a run.
 *
 * On a device the call must be prepared with a `CudaStream`, in whose order the memory is allocated and freed: closing the call does not wait
 * for work that uses it.
 *
 * @throws {ArgumentError} if `type` is not the type of a tensor.
 * @example
 * using call = hostFunction(library, 'do_custom_call').prepare({ operands: [f32([2, 4])], results: [f32([2, 4]), temp(f32([16]))] })
 */
export function temp(type: TensorType): Temp {
  if (type instanceof TensorType) return new Temp(type)
  throw wrongType('type', 'the type of a tensor', type, 'Write temp(f32([16])).')
}

/** One buffer of a call: a tensor's, or one that the call itself provides. */
export type Leaf = TensorType | Token | Temp

/** An operand or result: the index of a leaf, or a tuple. */
export type Tree = number | readonly Tree[]

/** Returns the number of leaves of a tree. */
export function countLeaves(tree: Tree): number {
  if (typeof tree === 'number') return 1
  let count = 0
  for (let i = 0; i < tree.length; i++) count += countLeaves(tree[i]!)
  return count
}

/** Returns the leaves of a tree, in pre-order. */
export function leavesOf(tree: Tree): number[] {
  return typeof tree === 'number' ? [tree] : tree.flatMap(leavesOf)
}
