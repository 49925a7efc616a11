import { isGroup } from './dimension.ts'
import type { Parameter, SizeExpression } from './kernel-signature.ts'
import { linearForm, type LinearExpression } from './size-expression.ts'

/** The check of one axis. */
export type AxisPlan =
  | { readonly kind: 'any' }
  | { readonly kind: 'number'; readonly size: number }
  /** The axis determines the name, or is compared with the name's value. */
  | { readonly kind: 'linear'; readonly form: LinearExpression; readonly expression: SizeExpression }
  /** The axis is compared with the value of the expression. */
  | { readonly kind: 'expression'; readonly expression: SizeExpression }

/** The axes of a parameter, prepared for matching. */
export interface ShapePlan {
  readonly head: readonly AxisPlan[]
  /** The group between head and tail; undefined if there is none. */
  readonly group: string | undefined
  readonly tail: readonly AxisPlan[]
}

const plans = new WeakMap<Parameter, ShapePlan | null>()

/** Returns the plan of a parameter's shape, or null for any rank. A plan is made once. */
export function shapePlan(parameter: Parameter): ShapePlan | null {
  let plan = plans.get(parameter)
  if (plan === undefined) {
    plan = makePlan(parameter)
    plans.set(parameter, plan)
  }
  return plan
}

function makePlan({ shape }: Parameter): ShapePlan | null {
  if (shape === undefined) return null
  const head: AxisPlan[] = []
  const tail: AxisPlan[] = []
  let group: string | undefined
  for (const size of shape) {
    if (isGroup(size)) group = size.group
    else (group === undefined ? head : tail).push(axisPlan(size))
  }
  return { head, group, tail }
}

function axisPlan(size: SizeExpression | null): AxisPlan {
  if (size === null) return { kind: 'any' }
  if (typeof size === 'number') return { kind: 'number', size }
  const form = linearForm(size)
  return form === undefined ? { kind: 'expression', expression: size } : { kind: 'linear', form, expression: size }
}
