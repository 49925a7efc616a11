import type { FunctionType, Type } from './model.ts'
import type { TypeBuilder } from './type-builder.ts'
import { valueMembersOf } from './value-layout.ts'

/** The reason why a function cannot be called from TypeScript, or undefined if it can. */
export function reasonNotCallable({ result, parameters }: FunctionType, types: TypeBuilder): string | undefined {
  const reason = byValue(result, types)
  if (reason !== undefined) return `returns ${reason}`
  for (const { type } of parameters) {
    const parameterReason = byValue(type, types)
    if (parameterReason !== undefined) return `takes ${parameterReason}`
  }
  return undefined
}

/** The reason why a value of a type cannot be passed, or undefined if it can. */
export function byValue(type: Type, types: TypeBuilder): string | undefined {
  if (type.kind === 'unsupported') return type.c
  if (type.kind !== 'record') return undefined
  const members = valueMembersOf(types.recordOf(type.id)!, (id) => types.recordOf(id))
  return typeof members === 'string' ? members : undefined
}
