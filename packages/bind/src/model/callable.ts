import type { FunctionType, RecordLayout, Type } from './model.ts'
import type { TypeBuilder } from './type-builder.ts'

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
  const layout = types.layoutOf(type.id)
  if (!layout) return `the opaque type ${type.id} by value`
  return layoutReason(type.id, layout, types)
}

/** The reasons of layouts, each found once: structs may contain each other many times over. */
const reasons = new WeakMap<RecordLayout, string>()

function layoutReason(id: string, layout: RecordLayout, types: TypeBuilder): string | undefined {
  let reason = reasons.get(layout)
  if (reason === undefined) {
    reason = findReason(id, layout, types) ?? ''
    reasons.set(layout, reason)
  }
  return reason === '' ? undefined : reason
}

function findReason(id: string, { members, byteSize }: RecordLayout, types: TypeBuilder): string | undefined {
  let end = 0
  for (const member of members) {
    if (member.kind === 'bits') return `the struct ${id} with bit-fields by value`
    if (member.byteOffset < end) return `${id} with a union by value`
    let { type } = member
    while (type.kind === 'array' && type.count !== undefined) type = type.of
    if (type.kind === 'array') return `the struct ${id} with an array of any length by value`
    if (type.kind === 'unsupported') return `the struct ${id} with ${type.c} by value`
    const inner = type.kind === 'record' ? types.layoutOf(type.id) : undefined
    if (inner) {
      const reason = layoutReason(type.kind === 'record' ? type.id : id, inner, types)
      if (reason !== undefined) return reason
    }
    end = Math.min(byteSize, member.byteOffset + 1)
  }
  return undefined
}
