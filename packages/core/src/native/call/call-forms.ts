import { callForms } from '../../generated/call-forms.ts'
import { guardMode } from '../../memory/guard-mode.ts'
import { isTraced as isAnyTraced } from '../../tracing/tracing.ts'
import { MOST_TEXTS } from './frame-layout.ts'
import { callSteps, checkOperands, type Form, type Target } from './call-steps.ts'
import { generalForm, operandsOf, resolveAll, traceForm } from './general-form.ts'
import { argumentSteps, type Slot, store } from './store.ts'

/** Returns the function that performs calls. The generated forms serve most functions, because they need no loop. */
export function formOf(target: Target): Form {
  if (guardMode) return generalForm(target)
  const { enterWithTexts, texts, resultKind } = target
  const hasTexts = texts.length > 0 || resultKind === 'text'
  if (hasTexts && (enterWithTexts === undefined || texts.length > MOST_TEXTS)) return generalForm(target)
  const order = target.slots.map(letterOf).join('') + (hasTexts && texts.length === 0 ? '>' : '')
  if (hasTexts) return (callForms[order] ?? generalForm)(target)
  return (callForms[order] ?? callForms[order.replaceAll(/./g, '-')] ?? (/^s+$/.test(order) ? ofScalars : ofAny))(
    target,
  )
}

/** The letter of an argument in the names of the generated forms. */
function letterOf({ kind, fast }: Slot): string {
  if (fast === 'pointer') return 'p'
  if (kind === 'text') return 't'
  return kind === 'target' || kind === 'struct' ? '-' : 's'
}

/** A function, for the reason that `makeSteps()` has. */
function makeForms(): Record<'ofScalars' | 'ofAny', (target: Target) => Form> {
  const steps = callSteps
  const { storeScalar } = argumentSteps
  const isTraced = isAnyTraced
  return {
    // The array of the values does not exist in compiled code, because nothing else gets it.
    ofScalars: (target) => {
      const { code, slots, count } = target
      return function form(...values) {
        steps.check(target, values.length)
        if (isTraced()) return traceForm(form, target, values)
        steps.begin(target)
        for (let i = 0; i < count; i++) storeScalar(slots[i]!, values[i])
        steps.perform(target)
        return steps.finish(target, code, undefined)
      }
    },
    ofAny: (target) => {
      const { slots, count, enter } = target
      return function form(...values) {
        steps.check(target, values.length)
        if (isTraced()) return traceForm(form, target, values)
        const operands = operandsOf(target, values)
        const resolved = resolveAll(target, values, operands)
        checkOperands(operands)
        steps.begin(target)
        for (let i = 0; i < count; i++) store(slots[i]!, resolved[i])
        for (let i = 0; i <= count; i++) operands[i]!.gate.calls++
        try {
          enter()
        } catch (error) {
          for (let i = 0; i <= count; i++) operands[i]!.gate.calls--
          throw error
        }
        for (let i = 0; i <= count; i++) operands[i]!.gate.calls--
        return steps.finish(target, operands[1]!, resolved[0])
      }
    },
  }
}

const { ofScalars, ofAny } = makeForms()
