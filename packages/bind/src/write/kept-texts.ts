import type { CallPlan, ParameterRole } from '../model/call-plan.ts'
import type { FunctionType, Type } from '../model/model.ts'
import { isText } from './types.ts'

const argument: ParameterRole = { kind: 'argument', isNonnull: false }

/**
 * The plan of a function that can give back a pointer into a text. The copy of a string ends with the call, so such a function accepts strings
 * only where it cannot: where the memory for the pointer is null, or where the pointer is read at once.
 */
export function withKeptTexts(type: FunctionType, call: CallPlan | undefined): CallPlan | undefined {
  const roles = call?.parameters ?? type.parameters.map(() => argument)
  const keptBy = call?.value.form === 'pointer' ? 'result' : holderOf(type, roles)
  const texts = roles.map(
    (role, i) => role.kind === 'argument' && isText(type.parameters[i]!.type) && role.as === undefined,
  )
  if (keptBy === undefined || !texts.includes(true)) return call
  const parameters = roles.map((role, i) => (texts[i] && role.kind === 'argument' ? { ...role, keptBy } : role))
  const plain = {
    value: { form: 'plain', isNullable: false, isNonnull: false },
    isAsync: false,
    errno: false,
    isCritical: false,
  } as const
  return call ? { ...call, parameters } : { ...plain, omitsValue: type.result.kind === 'void', parameters }
}

/** The parameter to which C can write a pointer to a text, which the caller passes or keeps. */
function holderOf({ parameters }: FunctionType, roles: readonly ParameterRole[]): number | 'result' | undefined {
  const index = parameters.findIndex(({ type }, i) => {
    const role = roles[i]!
    return pointsToText(type) && (role.kind === 'argument' || (role.kind === 'out' && role.value.form === 'pointer'))
  })
  if (index === -1) return undefined
  return roles[index]!.kind === 'out' ? 'result' : index
}

const pointsToText = (type: Type): boolean => type.kind === 'pointer' && !type.isConst && isText(type.to)
