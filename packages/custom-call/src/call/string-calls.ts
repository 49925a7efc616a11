import type { KernelSignature, NativeAllocator, Tensor } from '@tenon/core'
import {
  abandonStrings,
  arrivedStrings,
  checkStrings,
  enterAll,
  exitAll,
  freeStrings,
  isStringOperand,
  takeSharedStrings,
  takeStrings,
  type Gated,
  type StringUse,
} from '@tenon/core/internal'
import type { Callee, RemoteCallee } from './callee.ts'
import type { FrameCall } from './frames.ts'
import { hasStrings } from './kernel-parameters.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** The option of a call that says where the strings of results are placed. */
interface Placed {
  readonly allocator?: NativeAllocator | undefined
}

/** The steps of calls that have strings among their operands or results. */
export interface StringCalls {
  /**
   * Checks the strings of operands, after all code of the user has run, and replaces tensors of the list with copies where the call needs them.
   *
   * @returns other memory to which the strings refer.
   */
  check(list: Gated[], isAsync: boolean): readonly Gated[]
  /** Replaces the tables of results in the list with string tensors. Code of the user may run. */
  take(list: Gated[], allocator: NativeAllocator | undefined): void
}

/** Makes the steps of the calls of a kernel, or returns undefined for a kernel without strings. */
export function stringCalls<Call extends FrameCall>(
  { name, operands, results }: KernelSignature,
  remote: RemoteCallee<Call> | undefined,
): StringCalls | undefined {
  if (![...operands, ...results].some(hasStrings)) return undefined
  const names = results.filter(hasStrings).map((result) => `${result.name} of ${name}`)
  const shared = remote?.allocator
  return {
    check: (list, isAsync) => checkStringsIn(list, { shared, isCopied: isAsync }),
    take: (list, allocator) => {
      const tables = tablesIn(list)
      // If one is damaged, the others are given up as well.
      const taken = new Set<Tensor>()
      try {
        tables.forEach(([i, table], k) => {
          const place = names[k]!
          list[i] = (shared === undefined
            ? takeStrings(table, place, allocator)
            : takeSharedStrings(arrivedStrings(table), place, allocator)) as unknown as Gated
          taken.add(table)
        })
      } finally {
        if (shared === undefined) for (const [, table] of tables) if (!taken.has(table)) abandonStrings(table)
      }
    },
  }
}

/** Makes the functions that run calls with strings. */
export function runsStrings<Call extends FrameCall>(
  { check, take }: StringCalls,
  { run, runAsync, remote }: Pick<Callee<Call>, 'run' | 'runAsync' | 'remote'>,
): Pick<Callee<Call>, 'run' | 'runAsync'> {
  const isLocal = remote === undefined
  return {
    run: (call, list, options) => {
      const regions = check(list, false)
      enterAll(regions)
      try {
        run(call, list, options)
      } catch (error) {
        if (isLocal) for (const [, table] of tablesIn(list)) freeStrings(table)
        throw error
      } finally {
        exitAll(regions)
      }
      take(list, (options as Placed).allocator)
    },
    runAsync: async (call, list, options) => {
      check(list, true)
      try {
        await runAsync(call, list, options)
      } catch (error) {
        if (isLocal) for (const [, table] of tablesIn(list)) abandonStrings(table)
        throw error
      }
      take(list, (options as Placed).allocator)
    },
  }
}

/**
 * Checks the strings of the operands in a list, and replaces those with copies that the call needs.
 *
 * @returns other memory to which the strings refer. @throws {ArgumentError} with the element that is damaged
 */
export function checkStringsIn(list: Gated[], use: StringUse): readonly Gated[] {
  const regions: Gated[] = []
  for (const [i, tensor] of tensorsOf(list)) {
    if (!isStringOperand(tensor)) continue
    const checked = checkStrings(tensor, use)
    list[i] = checked.tensor
    regions.push(...checked.regions)
  }
  return regions
}

type Entry = readonly [index: number, tensor: Tensor]

/** The tensors of strings in a list. */
const tensorsOf = (list: readonly Gated[]): Entry[] =>
  list.flatMap((one, i): Entry[] =>
    i >= FIRST_TENSOR && (one as Partial<Tensor>).type?.strings !== undefined ? [[i, one as Gated as Tensor]] : [],
  )

/** The tables of string results in a list. */
const tablesIn = (list: readonly Gated[]): Entry[] => tensorsOf(list).filter(([, tensor]) => !isStringOperand(tensor))
