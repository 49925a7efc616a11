import { inspect } from 'node:util'
import type { Tensor, TensorLike } from '@tenon/core'
import { asTensor, inspectAsText } from '@tenon/core/internal'

/** A tensor whose memory a kernel may overwrite. {@link donated} makes one. */
export class Donated {
  readonly tensor: Tensor

  /** @internal */
  constructor(tensor: Tensor) {
    this.tensor = tensor
  }

  toString(): string {
    return `Donated ${inspect(String(this.tensor))}`
  }
}
inspectAsText(Donated)

/**
 * Lets a kernel use the memory of an operand for a result, if the kernel asks for it (`TF_ForwardInputOrAllocateOutput`). The contents of the
 * operand are undefined after the call.
 *
 * @throws {ArgumentError} if the value is not a tensor
 * @example
 * const y = relu(donated(x))
 */
export function donated(x: TensorLike): Donated {
  return new Donated(asTensor(x, 'x'))
}
