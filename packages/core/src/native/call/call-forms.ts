import { callForms } from '../../generated/call-forms.ts'
import type { Block } from '../../memory/block.ts'
import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import { guardMode } from '../../memory/guard-mode.ts'
import { checkedCall, type Written } from '../../memory/guarded-calls.ts'
import type { Value } from '../argument-conversion.ts'
import { keepAlive } from '../native-memory.ts'
import { MOST_TEXTS } from './frame-layout.ts'
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
import { argumentSteps, operandOf, resolveIn, type Resolved, type Slot, store } from './store.ts'
import { moveTexts } from './texts.ts'

/** Returns the function that performs calls. The generated forms serve most functions, because they need no loop. */
export function formOf(target: Target): Form {
  if (guardMode) return ofGuarded(target)
  const { enterWithTexts, texts, resultKind } = target
  const hasTexts = texts.length > 0 || resultKind === 'text'
  if (hasTexts && (enterWithTexts === undefined || texts.length > MOST_TEXTS)) return ofMany(target)
  const order = target.slots.map(letterOf).join('') + (hasTexts && texts.length === 0 ? '>' : '')
  if (order === '') return ofNone(target)
  return (callForms[order] ?? (/^s+$/.test(order) ? ofScalars : ofMany))(target)
}

/** The letter of an argument in the names of the generated forms. */
function letterOf({ kind, fast }: Slot): string {
  if (fast === 'pointer') return 'p'
  if (kind === 'text') return 't'
  return kind === 'target' || kind === 'struct' ? '-' : 's'
}

/** A function, for the reason that `makeSteps()` has. */
function makeForms(): Record<'ofNone' | 'ofScalars', (target: Target) => Form> {
  const steps = callSteps
  const { storeScalar } = argumentSteps
  return {
    ofNone: (target) => {
      const { code } = target
      return function () {
        steps.check(target, arguments.length)
        steps.begin(target)
        steps.perform(target)
        return steps.finish(target, code, undefined)
      }
    },
    // The array of the values does not exist in compiled code, because nothing else gets it.
    ofScalars: (target) => {
      const { code, slots, count } = target
      return (...values) => {
        steps.check(target, values.length)
        steps.begin(target)
        for (let i = 0; i < count; i++) storeScalar(slots[i]!, values[i])
        steps.perform(target)
        return steps.finish(target, code, undefined)
      }
    },
  }
}

const { ofNone, ofScalars } = makeForms()

function ofMany(target: Target): Form {
  const perform = performerOf(target)
  return (...values) => {
    check(target, values.length)
    const operands = operandsOf(target, values)
    const resolved = resolveAll(target, values, operands)
    checkOperands(operands)
    const place = enterCall(operands)
    try {
      return perform(operands, resolved)
    } finally {
      leaveCall(place)
    }
  }
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

/** As {@link ofMany}, for guard mode. */
function ofGuarded(target: Target): Form {
  const { name } = target
  const perform = performerOf(target)
  return (...values) => {
    check(target, values.length)
    const operands = operandsOf(target, values)
    const resolved = resolveAll(target, values, operands)
    checkOperands(operands)
    return checkedCall(
      name,
      () => writtenBy(target, operands, resolved),
      () => {
        const place = enterCall(operands)
        try {
          return perform(operands, resolved)
        } finally {
          leaveCall(place)
        }
      },
    )
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
