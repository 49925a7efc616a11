import { TensorType } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { ArgumentError } from '@tenon/core'

/** The type of {@link token}. */
export interface Token {
  readonly kind: 'token'
}

/**
 * An operand or result without data, by which compiled programs order their calls. Typed handlers get a buffer of type
 * TOKEN, untyped functions a null pointer; no tensor is given for it when the call runs.
 */
export const token: Token = Object.freeze({ kind: 'token' })

/** A result that nobody reads. Made by {@link temp}. */
export class Temp {
  readonly type: TensorType

  /** @internal */
  constructor(type: TensorType) {
    this.type = type
  }
}

/**
 * Scratch memory for a kernel: a result that belongs to the prepared call, aligned to 64 bytes. No tensor is given for it
 * when the call runs. What is in it at first is undefined, what a run leaves in it may or may not be there in the next.
 *
 * @throws {ArgumentError} if it is not given a type.
 * @example
 * using call = hostFunction(library, 'do_custom_call').prepare({ operands: [f32([2, 4])], results: [f32([2, 4]), temp(f32([16]))] })
 */
export function temp(type: TensorType): Temp {
  if (type instanceof TensorType) return new Temp(type)
  throw new ArgumentError(`temp() needs the type of a tensor, got ${describe(type)}`, {
    hint: 'write temp(f32([16])).',
  })
}

/** One buffer of a call: a tensor's, or one that the call itself provides. */
export type Leaf = TensorType | Token | Temp

/** An operand or result: the index of a leaf, or a tuple. */
export type Tree = number | readonly Tree[]

/** The leaves of a tree, in pre-order. */
export function leavesOf(tree: Tree): number[] {
  return typeof tree === 'number' ? [tree] : tree.flatMap(leavesOf)
}
