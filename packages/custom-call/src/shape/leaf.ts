import { TensorType } from '@tenon/core'
import { inspectAsText, wrongType } from '@tenon/core/internal'

/** The type of {@link token}. */
export interface Token {
  readonly kind: 'token'
}

/**
 * An operand or result without data, by which compiled programs order their calls. Typed handlers get a buffer of type
 * TOKEN, untyped functions a null pointer. A run takes no tensor for it.
 */
export const token: Token = Object.freeze({ kind: 'token' })

/** A result that only the kernel uses. Made by {@link temp}. */
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
 * Scratch memory for a kernel: a result that belongs to the prepared call, aligned to 64 bytes. A run takes no tensor for
 * it. Its contents are undefined at the start of each run.
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

/** Returns the leaves of a tree, in pre-order. */
export function leavesOf(tree: Tree): number[] {
  return typeof tree === 'number' ? [tree] : tree.flatMap(leavesOf)
}
