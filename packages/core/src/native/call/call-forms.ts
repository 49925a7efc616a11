import type { Block } from '../../memory/block.ts'
import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import type { Value } from '../argument-conversion.ts'
import { begin, check, checkOperands, finish, type Form, type Target } from './call-steps.ts'
import { memoryForms } from './memory-forms.ts'
import { plainFormOf } from './plain-forms.ts'
import { pointerForms } from './pointer-forms.ts'
import { operandOf, resolveIn, type Resolved, store } from './store.ts'

/**
 * Returns the function that performs calls. Each number of arguments up to four has a form, because rest arrays and loops cost
 * more than the call. Calls without memory have forms of their own: the compiler would not inline the steps of a form for both.
 */
export function formOf(target: Target): Form {
  const { slots, count, isPlain } = target
  if (isPlain) return plainFormOf(target)
  const forms = slots.every(({ fast }) => fast === 'pointer') ? pointerForms : memoryForms
  return (forms[count - 1] ?? ofMany)(target)
}

function ofMany(target: Target): Form {
  const { code, slots, enter } = target
  return (...values) => {
    check(target, values.length)
    const operands = operandsOf(target, values)
    const resolved = resolveAll(target, values, operands)
    checkOperands(operands)
    enterCall(operands)
    try {
      begin(target)
      for (let i = 0; i < slots.length; i++) store(slots[i]!, resolved[i])
      enter()
      return finish(target, operands[1] ?? code, resolved[0])
    } finally {
      leaveCall()
    }
  }
}

/** Returns the library, and the operand of each argument. */
export function operandsOf({ code, slots }: Target, values: readonly Value[]): Block[] {
  const operands = new Array<Block>(slots.length + 1)
  operands[0] = code
  for (let i = 0; i < slots.length; i++) operands[i + 1] = operandOf(values[i], code)
  return operands
}

export function resolveAll({ slots }: Target, values: readonly Value[], operands: readonly Block[]): Resolved[] {
  const resolved = new Array<Resolved>(slots.length)
  for (let i = 0; i < slots.length; i++) resolved[i] = resolveIn(operands[i + 1]!, slots[i]!, values[i])
  return resolved
}
