import { ArgumentError } from '../../errors/kinds.ts'
import type { CallPlan, ParameterPlan, PlanSignature, PlanType, ResultPlan } from './call-plan.ts'
import { threadDriver } from './thread-driver.ts'
import { alignUp, WORDS } from './frame-layout.ts'
import { planCall } from './plan.ts'
import { fastKind, type Slot } from './store.ts'

/** An argument, as calls of a stub read it. */
export interface Reader {
  /** For the frequent kinds, whose code the compiler inlines into every call. */
  readonly fast: 'int32' | 'float64' | undefined
  readonly word: number
  readonly plan: ParameterPlan
  readonly isPointer: boolean
  /** The alignment of a struct. Undefined for all other arguments. */
  readonly byteAlignment: number | undefined
  /** The word of the stage at which a struct begins. */
  readonly stageWord: number
}

/** The part of a stub that all stubs of one signature share. */
export interface StubPlan {
  readonly readers: readonly Reader[]
  /** The letters of the arguments: `p` is a pointer, `-` a struct, and `s` every other argument. */
  readonly order: string
  /** The size in bytes of the memory that has the structs until the function gets them, or 0. */
  readonly stageSize: number
  /** Where the result is stored. Undefined for `void`. */
  readonly result: Slot | undefined
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
  return (branch.plan = newPlan(planCall(threadDriver().abi, signature), parameters, name))
}

function newPlan(call: CallPlan, types: readonly PlanType[], name: string): StubPlan {
  let stageSize = 0
  const readers = call.parameters.map((plan, i) => {
    const reader = readerOf(plan, types[i]!, stageSize / 4)
    if (reader.byteAlignment !== undefined) stageSize += alignUp(plan.byteSize, 8)
    return reader
  })
  return {
    readers,
    stageSize,
    order: readers.map(letterOf).join(''),
    result: resultSlot(call.result, call, name),
    stackSize: call.stackSize,
    resultSize: call.result.kind === 'memory' ? call.result.byteSize : 0,
  }
}

function readerOf(plan: ParameterPlan, type: PlanType, stageWord: number): Reader {
  const { kind, word, byteSize } = plan
  const isFast = byteSize === 8 && (kind === 'int32' || kind === 'float64')
  return {
    fast: isFast ? kind : undefined,
    word,
    plan,
    isPointer: kind === 'pointer',
    byteAlignment: typeof type === 'string' ? undefined : type.byteAlignment,
    stageWord,
  }
}

function letterOf({ isPointer, byteAlignment }: Reader): string {
  if (isPointer) return 'p'
  return byteAlignment === undefined ? 's' : '-'
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
  return { kind: 'struct', fast: undefined, word, name, byteSize, plan, call }
}
