import { GuardError } from '../errors/kinds.ts'
import type { Block } from './block.ts'
import { guardOf } from './guarded-memory.ts'

/** Memory that a call may have written. */
export interface Written {
  readonly block: Block
  /** The address of the operand, which may be a part of the block. */
  readonly address: number
  /** The name of the operand or result in messages. */
  readonly name: string
}

/**
 * Checks the bytes beside the memory of a call in guard mode, and restores those that changed.
 *
 * @param callee the name of the function that ran.
 * @param cause the error of the call, if it failed.
 * @returns the error for the first memory that the call wrote outside of.
 */
export function findDamage(callee: string, all: Iterable<Written>, cause?: unknown): GuardError | undefined {
  let error: GuardError | undefined
  for (const { block, address, name } of all) {
    const guard = guardOf(block.view.buffer)
    const damage = guard?.find()
    if (damage === undefined || error !== undefined) continue
    const isBehind = damage.behind > 0
    const count = isBehind ? damage.behind : damage.before
    const at = isBehind ? guard!.address + guard!.byteSize + damage.gap : guard!.address - damage.distance
    const bytes = count === 1 ? '1 byte' : `${count} bytes`
    const offset = at - address
    error = new GuardError(`${callee} wrote ${bytes} ${isBehind ? 'behind' : 'before'} ${name}, at offset ${offset}`, {
      hint: 'Check the sizes and loops of the kernel, and that the types of its results are those that it writes.',
      details: { callee, name, count, offset, before: damage.before, behind: damage.behind },
      ...(cause === undefined ? {} : { cause }),
    })
  }
  return error
}

/** Runs a call in guard mode. @throws {GuardError} if it wrote outside of its memory; else what it throws. */
export function checkedCall<Result>(callee: string, written: () => Iterable<Written>, run: () => Result): Result {
  let result: Result
  try {
    result = run()
  } catch (error) {
    throw findDamage(callee, written(), error) ?? error
  }
  const error = findDamage(callee, written())
  if (error !== undefined) throw error
  return result
}
