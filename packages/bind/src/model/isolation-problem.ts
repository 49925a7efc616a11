import type { ParameterRole } from './call-plan.ts'
import type { BoundFunction, BoundRecord, Type } from './model.ts'

/** The reasons why a function cannot run in another process, by the role of a parameter. */
const PROBLEMS: Readonly<Partial<Record<ParameterRole['kind'], string>>> = {
  callback: 'takes a function',
  texts: 'takes an array of texts',
  pointers: 'takes an array of pointers',
  retained: 'keeps memory after the call',
}

/** The roles of parameters whose arguments the call makes, or whose type says nothing more. */
const HARMLESS: ReadonlySet<ParameterRole['kind']> = new Set([
  'out',
  'struct',
  'inout',
  'length',
  'omit',
  'constant',
  'resultLength',
  'taken',
  'takenAddress',
])

/** Why a function cannot run in a process of its own, as `Library.isolate()` has it. Undefined if it can. */
export function isolationProblem(
  { type, call }: BoundFunction,
  records: ReadonlyMap<string, BoundRecord>,
): string | undefined {
  for (const [index, parameter] of type.parameters.entries()) {
    const role = call?.parameters[index]
    const problem =
      role === undefined || !HARMLESS.has(role.kind) ? problemOf(parameter.type, role, records) : undefined
    if (problem !== undefined) return problem
  }
  return isRecordWithPointers(type.result, records) ? 'returns a struct with pointers' : undefined
}

function problemOf(
  type: Type,
  role: ParameterRole | undefined,
  records: ReadonlyMap<string, BoundRecord>,
): string | undefined {
  if (role !== undefined && PROBLEMS[role.kind] !== undefined) return PROBLEMS[role.kind]
  if (type.kind === 'va_list') return 'takes a va_list'
  if (isRecordWithPointers(type, records)) return 'takes a struct with pointers'
  if (type.kind !== 'pointer') return undefined
  if (type.to.kind === 'function') return 'takes a function'
  return type.to.kind === 'pointer' ? 'takes memory with pointers (annotate it as a result)' : undefined
}

function isRecordWithPointers(type: Type, records: ReadonlyMap<string, BoundRecord>): boolean {
  if (type.kind === 'array') return isRecordWithPointers(type.of, records)
  if (type.kind !== 'record') return false
  const members = records.get(type.id)?.layout?.members ?? []
  return members.some(
    (member) =>
      member.kind === 'field' &&
      (elementOf(member.type).kind === 'pointer' || isRecordWithPointers(member.type, records)),
  )
}

const elementOf = (type: Type): Type => (type.kind === 'array' ? elementOf(type.of) : type)
