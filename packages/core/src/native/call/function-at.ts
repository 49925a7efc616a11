import type { ValueType } from '../value-type.ts'
import { callFailure } from './call-failure.ts'
import { threadDriver } from './thread-driver.ts'
import { FLAGS, WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { setAddress } from './functions.ts'
import { load } from './load.ts'
import { planCall } from './plan.ts'
import { slotOf, store } from './store.ts'

/** A native function that takes numbers and returns one, and nothing for `void`. */
export type PlainFunction = (...values: readonly number[]) => number

/**
 * Returns a function that calls native code without holding anything open, for code that guarantees that the addresses are
 * valid. The values are checked against their types, and addresses are of the type `uint64`. Functions of the core that run code of
 * others are called in this way, because such code may need a large stack, and may call TypeScript. With `isInPlace` they run on the stack of
 * the thread, if enough of it is free.
 *
 * @throws what a function of TypeScript has thrown during the call, and {NativeError} after a C++ exception.
 */
export function functionAt(
  address: number,
  result: Exclude<ValueType, 'pointer'> | 'void',
  parameters: readonly Exclude<ValueType, 'pointer'>[],
  isInPlace = false,
): PlainFunction {
  const { abi, enter } = threadDriver()
  const plan = planCall(abi, { result, parameters })
  const slots = plan.parameters.map((parameter, i) => slotOf(parameter, plan, `argument ${i + 1}`))
  const flags = (plan.flags & FLAGS.VECTORS) | (isInPlace ? FLAGS.IN_PLACE : 0)
  return (...values) => {
    setAddress(WORDS.target, address)
    words[WORDS.flags] = flags
    words[WORDS.stackSize] = plan.stackSize
    words[WORDS.extra] = plan.vectorCount
    words[WORDS.extra + 1] = 0
    for (let i = 0; i < slots.length; i++) store(slots[i]!, values[i])
    enter()
    if (words[WORDS.state] !== 0) throw callFailure('a function')
    return Number(load(result, plan.result.word))
  }
}

/** The result and the number of parameters of functions, all of which are integers or addresses. */
export type Entered<Name extends string> = Readonly<Record<Name, readonly [result: 'int32' | 'void', count: number]>>

/**
 * Returns functions that run code of others, such as a destructor. Such code may need the large stack of native code, and can call functions of
 * TypeScript. Each function throws what an upcall stub has thrown meanwhile.
 *
 * @param find returns the address of one.
 */
export function enteredFunctions<Name extends string>(
  table: Entered<Name>,
  find: (name: Name) => number,
): Readonly<Record<Name, PlainFunction>> {
  const entries = Object.entries<Entered<Name>[Name]>(table).map(([name, [result, count]]) => {
    const parameters = Array.from({ length: count }, () => 'uint64' as const)
    return [name, functionAt(find(name as Name), result, parameters)]
  })
  return Object.fromEntries(entries) as Record<Name, PlainFunction>
}
