import type { Block } from '../../memory/block.ts'
import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import { guardMode } from '../../memory/guard-mode.ts'
import { checkedCall, type Written } from '../../memory/guarded-calls.ts'
import { type CallTrace, newTrace, typeOf } from '../../tracing/call-trace.ts'
import { isTraced, traceAgain } from '../../tracing/tracing.ts'
import type { Value } from '../argument-conversion.ts'
import { keepAlive } from '../native-memory.ts'
import {
  begin,
  callSteps,
  check,
  checkOperands,
  finish,
  type Form,
  type Target,
  type ValueWithErrno,
} from './call-steps.ts'
import { MOST_TEXTS } from './frame-layout.ts'
import { argumentSteps, operandOf, resolveIn, type Resolved, type Slot, store } from './store.ts'
import { moveTexts } from './texts.ts'

/** Returns the function that performs calls of any signature, with loops over the arguments. It checks the memory of calls in guard mode. */
export function generalForm(target: Target): Form {
  const { name } = target
  const perform = performerOf(target)
  const hold: Performer = (operands, resolved) => {
    const place = enterCall(operands)
    try {
      return perform(operands, resolved)
    } finally {
      leaveCall(place)
    }
  }
  return function form(...values) {
    check(target, values.length)
    if (isTraced()) return traceForm(form, target, values)
    const operands = operandsOf(target, values)
    const resolved = resolveAll(target, values, operands)
    checkOperands(operands)
    if (!guardMode) return hold(operands, resolved)
    return checkedCall(
      name,
      () => writtenBy(target, operands, resolved),
      () => hold(operands, resolved),
    )
  }
}

/** Calls a form again, between the events of the call. */
export const traceForm = (form: Form, target: Target, values: readonly Value[]): Value | ValueWithErrno =>
  traceAgain(traceOf(target, values, false), () => form(...values))

/** Makes the message of a call. */
export const traceOf = ({ name, slots }: Target, values: readonly Value[], isAsync: boolean): CallTrace =>
  newTrace(name, 'function', typesOf(slots, values), isAsync)

/** Returns the types of arguments in messages: those of tensors, and those of the parameters for other values. */
export function typesOf(slots: readonly Slot[], values: readonly Value[]): CallTrace['types'] {
  const types: CallTrace['types'][number][] = []
  for (let i = 0; i < slots.length; i++) {
    const { kind, plan } = slots[i]!
    if (kind === 'target') continue
    const type = typeOf(values[i])
    types.push(typeof type !== 'string' ? type : kind === 'struct' ? kind : plan!.kind)
  }
  return types
}

type Performer = (operands: readonly Block[], resolved: Resolved[]) => Value | ValueWithErrno

/** Returns the function that stores arguments, performs the call and loads the result. */
function performerOf(target: Target): Performer {
  const { code, slots, enter, enterWithTexts, texts, resultKind } = target
  const plain: Performer = (operands, resolved) => {
    begin(target)
    for (let i = 0; i < slots.length; i++) store(slots[i]!, resolved[i])
    enter()
    return finish(target, operands[1] ?? code, resolved[0])
  }
  if (texts.length === 0 && resultKind !== 'text') return plain
  if (enterWithTexts === undefined || texts.length > MOST_TEXTS) {
    return (operands, resolved) => {
      const copies = moveTexts(slots, resolved)
      const result = plain(operands, resolved)
      copies.forEach(keepAlive)
      return result
    }
  }
  return (operands, resolved) => {
    const strings: Resolved[] = []
    begin(target)
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!
      if (slot.kind === 'text') argumentSteps.storeText(slot, strings.push(resolved[i]) - 1, resolved[i])
      else store(slot, resolved[i])
    }
    const text = callSteps.enterTexts(target, ...strings)
    return callSteps.finishTexts(target, text, operands[1] ?? code, resolved[0])
  }
}

/** The memory that a call got the addresses of. */
export function writtenBy(
  { code, slots }: Target,
  operands: readonly Block[],
  resolved: readonly Resolved[],
): Written[] {
  const written: Written[] = []
  for (let i = 0; i < slots.length; i++) {
    const [block, address] = [operands[i + 1]!, resolved[i]]
    if (block === code || typeof address !== 'number') continue
    const hidden = slots[0]!.kind === 'target' ? 1 : 0
    written.push({ block, address, name: i < hidden ? 'its result' : `argument ${i + 1 - hidden}` })
  }
  return written
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
