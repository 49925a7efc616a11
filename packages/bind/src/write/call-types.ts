import type { CallPlan, ParameterRole, ValuePlan } from '../model/call-plan.ts'
import type { BoundRecord, FunctionType, Type } from '../model/model.ts'
import { identifier } from './identifiers.ts'
import { namesOfResults } from './result-names.ts'
import { argumentOfScalar, parameterType, pointerTo, resultType, TYPED_ARRAYS } from './types.ts'

type Records = ReadonlyMap<string, BoundRecord>

const MADE: ReadonlySet<ParameterRole['kind']> = new Set([
  'out',
  'struct',
  'omit',
  'constant',
  'length',
  'resultLength',
])

/** Whether the caller passes an argument for a parameter. */
export const isPassed = ({ kind, ...role }: ParameterRole): boolean =>
  !MADE.has(kind) && !(kind === 'inout' && 'of' in role)

/** Whether the caller passes an allocator first, which gives the memory of a struct that is a result. */
export const takesAllocator = ({ result }: FunctionType, call: CallPlan | undefined): boolean =>
  result.kind === 'record' || (call?.parameters.some(({ kind }) => kind === 'struct') ?? false)

/** The TypeScript type of an argument. */
export function argumentType(type: Type, role: ParameterRole, records: Records): string {
  const to = type.kind === 'pointer' ? type.to : type
  switch (role.kind) {
    case 'argument': {
      const { as, isNonnull, keptBy } = role
      if (keptBy === 'result') return `${pointerTo(to)} | null`
      const declared =
        as === undefined
          ? parameterType(type, records)
          : `${as === 'text' ? 'string | Uint8Array | ' : ''}${pointerTo(to)} | null`
      return isNonnull ? declared.replace(/ \| null$/, '') : declared
    }
    case 'inout':
      return writtenArgument(to)
    case 'texts':
      return 'readonly (string | MemorySegment | null)[] | null'
    case 'pointers':
      return `readonly (${to.kind === 'pointer' ? pointerTo(to.to) : 'MemorySegment'} | null)[] | null`
    case 'retained':
      return `${pointerTo(to)} | null`
    case 'takenAddress':
      return parameterType(to, records)
    default:
      return parameterType(type, records)
  }
}

function writtenArgument(type: Type): string {
  if (type.kind === 'pointer') return `${pointerTo(type.to)} | null`
  return type.kind === 'scalar' || type.kind === 'enum' ? argumentOfScalar(type.as) : 'MemorySegment'
}

/** The TypeScript type of what a call gives. */
export function callResultType({ result, parameters }: FunctionType, call: CallPlan, names: readonly string[]): string {
  const results: [name: string, type: string][] = []
  const resultNames = namesOfResults(call, names)
  if (!call.omitsValue) results.push(['value', valueType(result, call.value)])
  parameters.forEach(({ type }, i) => {
    const role = call.parameters[i]!
    const to = type.kind === 'pointer' ? type.to : type
    if (role.kind === 'out')
      results.push([resultNames[i]!, role.of === undefined ? valueType(to, role.value) : arrayType(to, role.value)])
    else if (role.kind === 'struct') results.push([resultNames[i]!, identifier(role.id)])
    else if (role.kind === 'inout') results.push([resultNames[i]!, resultType(to)])
  })
  if (call.errno) results.push(['errno', 'number'])
  if (results.length === 0) return 'void'
  const isNullable = call.status?.none !== undefined && call.omitsValue
  if (results.length === 1 && !call.errno) return isNullable ? orNull(results[0]![1]) : results[0]![1]
  const members = results.map(([name, type]) => `readonly ${name}: ${type}`)
  return `{ ${members.join('; ')} }${isNullable ? ' | null' : ''}`
}

const orNull = (type: string): string => (type.endsWith('null') ? type : `${type} | null`)

function valueType(type: Type, { form, isNullable, isNonnull, handle }: ValuePlan): string {
  if (handle) return isNullable ? orNull(identifier(handle.className)) : identifier(handle.className)
  if (form === 'number') return 'number'
  if (form === 'pointer' && type.kind === 'pointer') return isNullable ? orNull(pointerTo(type.to)) : pointerTo(type.to)
  const text = form === 'text' ? 'string | null' : resultType(type)
  return isNonnull ? text.replace(/ \| null$/, '') : isNullable ? orNull(text) : text
}

function arrayType(type: Type, value: ValuePlan): string {
  const isScalar = type.kind === 'scalar' || type.kind === 'enum'
  if (isScalar && value.form === 'plain') return TYPED_ARRAYS[type.as] ?? 'boolean[]'
  const element = valueType(type, value)
  return element.includes('|') ? `(${element})[]` : `${element}[]`
}

/** The class of a handle as TypeScript declares it: a pointer to its type. */
export const handleDeclaration = (className: string, type: string): string =>
  `export declare class ${identifier(className)} extends Handle {}\nexport interface ${identifier(className)} extends ${pointerTo({ kind: 'record', id: type })} {}`
