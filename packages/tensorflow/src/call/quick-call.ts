import { cpu, Tensor } from '@tenon/core'
import { guardMode, newCollected, TENSOR_ALIGNMENT, type Gated } from '@tenon/core/internal'
import type { Frame } from './frame.ts'
import { hasKeptMemory } from './kept-memory.ts'
import { runFrame } from './run.ts'

/** The value for a call that needs all checks. */
export const NOT_QUICK: unique symbol = Symbol('not quick')

/** Runs a call of tensors that are like those of the frame, or returns {@link NOT_QUICK}. */
export type QuickCall = (frame: Frame, args: readonly unknown[]) => unknown

/** What is left of a run that did not leave all results in place. */
export type EndQuickCall = (frame: Frame, operands: readonly Tensor[], offers: readonly Tensor[]) => readonly unknown[]

/**
 * Makes the function that runs most calls: of a kernel without lists, for tensors alone, with the types of the call before. A function, whose
 * constants are part of the compiled code.
 *
 * @param valueOf returns the value of a call with several results; undefined if there is one
 */
export function makeQuickCall(
  { gate: library }: Gated,
  end: EndQuickCall,
  valueOf: ((frame: Frame, results: readonly unknown[]) => unknown) | undefined,
): QuickCall {
  const { isGenuine } = Tensor
  const alignment = TENSOR_ALIGNMENT
  const allocate = newCollected

  /** Checks the operands, and writes their addresses. No code of the user runs. */
  const write = ({ operands, misalignments, words, places, flags }: Frame, args: readonly unknown[]): boolean => {
    const { length } = operands
    if (args.length !== length) return false
    for (let i = 0; i < length; i++) {
      const tensor = args[i]
      // First, because reading a Proxy runs code of the user.
      if (typeof tensor !== 'object' || tensor === null || !isGenuine(tensor)) return false
      const operand = operands[i]!
      const { block, lo } = tensor
      if (tensor.type !== operand.type || operand.isString || !tensor.gate.open) return false
      if (tensor.device.type !== cpu.type || (lo & misalignments[i]!) !== 0) return false
      // Memory that was exposed and is empty may be detached.
      if (block.exposed && block.bytes.length === 0) return false
      const at = places[i]!
      words[at] = lo
      words[at + 1] = tensor.hi
      words[at + flags] = 0
    }
    return true
  }

  const allocateResult = (frame: Frame, index: number): Tensor | undefined => {
    const type = frame.predicted[index]
    if (type === undefined) return undefined
    const tensor = new Tensor(allocate(type.byteSize, alignment), type, cpu)
    frame.offer(index, type, tensor.lo, tensor.hi, false)
    return tensor
  }

  /** Counts the run in the gates of its memory, which takes less time than storing a list of what it holds. */
  const runCounted = (frame: Frame, args: readonly Tensor[]): boolean => {
    let counted = 0
    try {
      library.calls++
      for (; counted < args.length; counted++) args[counted]!.gate.calls++
      return runFrame(frame)
    } finally {
      while (counted > 0) args[--counted]!.gate.calls--
      library.calls--
    }
  }

  const runSingle = (frame: Frame, args: readonly Tensor[]): unknown => {
    const result = allocateResult(frame, 0)
    if (result === undefined) return NOT_QUICK
    return runCounted(frame, args) ? result : end(frame, args, [result])[0]
  }

  const runSeveral = (frame: Frame, args: readonly Tensor[]): unknown => {
    const offers: Tensor[] = []
    for (let i = 0; i < frame.predicted.length; i++) {
      const tensor = allocateResult(frame, i)
      if (tensor === undefined) return NOT_QUICK
      offers.push(tensor)
    }
    return valueOf!(frame, runCounted(frame, args) ? offers : end(frame, args, offers))
  }

  const run = valueOf === undefined ? runSingle : runSeveral
  return (frame, args) => {
    if (frame.running || frame.isKept || !library.open || guardMode || hasKeptMemory() || !write(frame, args))
      return NOT_QUICK
    return run(frame, args as readonly Tensor[])
  }
}
