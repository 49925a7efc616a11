import { ArgumentError, ReadOnlyError, type KernelSignature, type Tensor } from '@tenon/core'
import { checkEnterable, copyBytes, READ_ONLY, sharedBytes, type Gated } from '@tenon/core/internal'
import { withoutTokens } from './kernel-parameters.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** A result that shares the memory of an operand, which is a required one. */
export interface AliasedPair {
  /** The index of the operand. */
  readonly operand: number
  /** The index of the result. */
  readonly result: number
  readonly operandName: string
  readonly resultName: string
  /** Whether the kernel overwrites the operand of the caller. Otherwise it overwrites a copy. */
  readonly isDonated: boolean
}

/** Returns the results of a kernel that share memory with operands. */
export function aliasedPairs(signature: KernelSignature): readonly AliasedPair[] {
  const operands = withoutTokens(signature.operands)
  return withoutTokens(signature.results).flatMap(({ name, alias }, result) => {
    const operand = operands.findIndex((one) => one.name === alias)
    if (alias === undefined || operand < 0) return []
    return [{ operand, result, operandName: alias, resultName: name, isDonated: operands[operand]!.isDonated }]
  })
}

const HOST = 1

/**
 * Copies operands that are not donated into their results, and passes the results in their places, as XLA does.
 *
 * @param list places for the call and its library, the operands, and the results of a call whose types were checked.
 * @throws {ScopeClosedError | ReadOnlyError | ArgumentError} if the memory cannot be copied.
 */
export function shareMemory(kernel: string, pairs: readonly AliasedPair[], list: Gated[], operandCount: number): void {
  for (const { operand, result, operandName, resultName, isDonated } of pairs) {
    if (isDonated) continue
    const from = list[FIRST_TENSOR + operand] as Tensor
    const to = list[FIRST_TENSOR + operandCount + result] as Tensor
    if (from.device.type !== HOST || to.device.type !== HOST) {
      throw new ArgumentError(`${operandName} of ${kernel} must be on the CPU to be copied, got a tensor of a device`, {
        hint: `Write @donated on ${operandName} in the signature, so that the kernel overwrites it without a copy.`,
      })
    }
    checkEnterable(from.block)
    checkEnterable(to.block)
    if ((to.flags & READ_ONLY) !== 0) {
      throw new ReadOnlyError(`${resultName} of ${kernel} must be writable, got read-only memory`)
    }
    if (from.address !== to.address) {
      const others = list.slice(FIRST_TENSOR, FIRST_TENSOR + operandCount) as Tensor[]
      const index = others.findIndex((other, i) => i !== operand && sharedBytes(other, to) > 0)
      if (index !== -1) refuseOverlap(`${resultName} of ${kernel}`, index, operandName)
      // Views with strides can overlap.
      copyBytes(to.type.strides === undefined ? from : from.copy(), to)
    }
    list[FIRST_TENSOR + operand] = to
  }
}

/** The copy would overwrite another operand before the kernel reads it. */
function refuseOverlap(place: string, index: number, copied: string): never {
  throw new ArgumentError(`${place} must not be in the memory of operand ${index}, because ${copied} is copied to it`, {
    hint: 'Pass other memory for the result, or let the call allocate it.',
    details: { path: place },
  })
}
