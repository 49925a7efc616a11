import { ArgumentError } from '../../errors/kinds.ts'
import type { Value } from '../argument-conversion.ts'
import type { CallPlan, ParameterPlan, PlanSignature, ResultPlan } from './call-plan.ts'
import { threadDriver } from './thread-driver.ts'
import { WORDS } from './frame-layout.ts'
import { planCall } from './plan.ts'
import { fastKind, type Resolved, resolveResult, type Slot } from './store.ts'

/** An argument, as calls of a stub read it. */
export interface Reader {
  /** For the frequent kinds, whose code the compiler inlines into every call. */
  readonly fast: 'int32' | 'float64' | 'pointer' | undefined
  readonly word: number
  readonly plan: ParameterPlan
}

/** Turns the result of a function into what is stored, while the memory of the result is open. @throws {ArgumentError} */
export type Complete = (value: Value) => Resolved

/** The part of a stub that all stubs of one signature share. */
export interface StubPlan {
  readonly readers: readonly Reader[]
  /** Where the result is stored. Undefined for `void`. */
  readonly result: Slot | undefined
  readonly complete: Complete
  /** The size of the stack arguments in bytes. */
  readonly stackSize: number
  /** The size in bytes of a result that the caller gives memory for, or 0. */
  readonly resultSize: number
}

/** The plans that begin with the same types. */
interface Branch {
  plan: StubPlan | undefined
  readonly next: Map<unknown, Branch>
}

/** The plans that are kept. With one more, all of them are forgotten. */
const MOST_PLANS = 1024

const newBranch = (): Branch => ({ plan: undefined, next: new Map() })

let root = newBranch()
let count = 0

function follow({ next }: Branch, key: unknown): Branch {
  let branch = next.get(key)
  if (branch === undefined) next.set(key, (branch = newBranch()))
  return branch
}

/**
 * Returns the plan of a signature. Plans are found by their types, because building one costs more than making a stub.
 *
 * @param name names the result in messages.
 * @throws {ArgumentError} if the signature has too many parameters, or a struct or all arguments need too much memory.
 */
export function stubPlan(signature: PlanSignature, name: string): StubPlan {
  const { result, parameters, fixedParameters } = signature
  let branch = follow(follow(follow(root, name), result), fixedParameters)
  for (const type of parameters) branch = follow(branch, type)
  if (branch.plan !== undefined) return branch.plan
  // Signatures that are refused leave branches, so they are counted, too.
  if (++count > MOST_PLANS) {
    root = newBranch()
    count = 0
  }
  return (branch.plan = newPlan(planCall(threadDriver().abi, signature), name))
}

function newPlan(call: CallPlan, name: string): StubPlan {
  const result = resultSlot(call.result, call, name)
  return {
    readers: call.parameters.map(readerOf),
    result,
    complete: (value) => (result === undefined ? undefined : resolveResult(result, value)),
    stackSize: call.stackSize,
    resultSize: call.result.kind === 'memory' ? call.result.byteSize : 0,
  }
}

function readerOf(plan: ParameterPlan): Reader {
  const { kind, word, byteSize } = plan
  const isFast = byteSize === 8 && (kind === 'int32' || kind === 'float64' || kind === 'pointer')
  return { fast: isFast ? kind : undefined, word, plan }
}

/** Where the result of a function is stored. A struct in memory is copied from the stack area to its place. */
function resultSlot({ kind, word, byteSize, pieces }: ResultPlan, call: CallPlan, name: string): Slot | undefined {
  if (kind === 'void') return undefined
  if (kind === 'text') {
    throw new ArgumentError(`${name} must not be text, because nothing would keep its memory`, {
      hint: 'Declare the result as pointer, and return a segment that outlives its use, such as a C string in a scope.',
    })
  }
  if (kind !== 'struct' && kind !== 'memory')
    return { kind, fast: fastKind(kind), word, name, byteSize: 8, plan: undefined, call }
  const all = kind === 'struct' ? pieces : [{ word: WORDS.stack, offset: 0, byteSize }]
  const plan = { kind: 'struct', word, byteOffset: 0, byteSize, second: -1, pieces: all, copy: null } as const
  return { kind: 'struct', word, name, byteSize, plan, call }
}
