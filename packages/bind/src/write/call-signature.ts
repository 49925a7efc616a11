import type { CallPlan, ParameterRole, StatusPlan, ValuePlan } from '../model/call-plan.ts'
import type { BoundRecord, FunctionType, Parameter, Type } from '../model/model.ts'
import { memberKey } from './class-member.ts'
import { identifier } from './identifiers.ts'
import { literalOf } from './literals.ts'
import { namesOfResults } from './result-names.ts'
import { isText, signature, signatureType, sizeOf } from './types.ts'

type Records = ReadonlyMap<string, BoundRecord>

/** How the text of a call names another function: `sqlite3_free`, or `this.ReleaseValue` in a table. */
export type NameFunction = (name: string) => string

/** How the text of a call names what the module or table has. */
export interface CallNames {
  readonly nameFunction: NameFunction
  /** The expression of the statuses. */
  readonly status: string
}

const members = (parts: readonly (string | undefined)[]): string =>
  `{ ${parts.filter((part) => part !== undefined).join(', ')} }`

/** The signature of a function with annotations, as `library.link()` takes it. */
export function annotatedSignature(
  { result, parameters, isVariadic }: FunctionType,
  call: CallPlan,
  names: readonly string[],
  records: Records,
  { nameFunction, status: statuses }: CallNames,
): string {
  const { value, omitsValue, errno, isCritical, status } = call
  const resultNames = namesOfResults(call, names)
  const list = parameters.map(({ type }, i) =>
    parameterText(type, call.parameters[i]!, resultNames[i]!, parameters, records, nameFunction),
  )
  const hasLength = call.parameters.some(({ kind }) => kind === 'resultLength')
  // The call itself reads a text of which nothing more is known.
  const isOwnText =
    value.form === 'plain' && !value.isNonnull && !errno && !hasLength && signatureType(result, records) === `'text'`
  const form = isOwnText
    ? undefined
    : formText(value, result, nameFunction, hasLength ? elementSizeOf(result, records) : undefined, records)
  return members([
    'annotated: true',
    result.kind === 'void' ? undefined : `result: ${isOwnText ? `'text'` : pointerText(result, records)}`,
    omitsValue ? 'omitsValue: true' : undefined,
    form === undefined ? undefined : `returns: ${form}`,
    list.length === 0 ? undefined : `parameters: [${list.join(', ')}]`,
    list.length === 0 ? undefined : `names: [${names.map((name) => `'${name}'`).join(', ')}]`,
    isVariadic ? 'isVariadic: true' : undefined,
    errno ? 'errno: true' : undefined,
    isCritical ? 'critical: true' : undefined,
    status === undefined ? undefined : `status: ${statuses}`,
    status?.none === undefined ? undefined : `none: [${status.none.join(', ')}]`,
    status?.subject === undefined ? undefined : `subject: ${status.subject}`,
    status?.subjectParent === undefined ? undefined : `subjectParent: ${identifier(status.subjectParent)}`,
  ])
}

/** The type of a result in the call itself, which gives pointers of texts as they are. */
function pointerText(type: Type, records: Records): string {
  const text = signatureType(type, records)
  return text === `'text'` ? `'pointer'` : text
}

function parameterText(
  type: Type,
  role: ParameterRole,
  name: string,
  parameters: readonly Parameter[],
  records: Records,
  nameFunction: NameFunction,
): string {
  const counted = 'of' in role && role.of !== undefined ? countedText(role.of, parameters, records) : undefined
  const label = `name: '${name}'`
  const to = type.kind === 'pointer' ? type.to : type
  switch (role.kind) {
    case 'argument': {
      const text = role.as === undefined ? signatureType(type, records) : `'${role.as}'`
      if (role.keptBy === 'result') return members([`is: 'retained'`, `type: ${text}`, label])
      if (role.keptBy !== undefined) return members([`is: 'retained'`, `type: ${text}`, label, `of: ${role.keptBy}`])
      return role.isNonnull ? members([`is: 'nonnull'`, `type: ${text}`, label]) : text
    }
    case 'out': {
      const form = formText(role.value, to, nameFunction, undefined, records)
      return members([
        `is: 'out'`,
        `type: ${writtenType(to)}`,
        label,
        counted,
        form === undefined ? undefined : `value: ${form}`,
      ])
    }
    case 'struct':
      return members([`is: 'struct'`, `type: 'pointer'`, label, `struct: ${identifier(role.id)}`])
    case 'inout':
      return members([`is: 'inout'`, `type: ${writtenType(to)}`, label, counted])
    case 'length':
      return members([`is: 'length'`, `type: ${signatureType(type, records)}`, label, counted])
    case 'constant': {
      const { value } = literalOf(role.constant)
      const text = type.kind === 'scalar' && type.as === 'bool' ? String(value === '1') : value
      const own = type.kind === 'pointer' && !isText(type) ? `'pointer'` : signatureType(type, records)
      return members([`is: 'constant'`, `type: ${own}`, label, `constant: ${text}`])
    }
    case 'callback':
      return members([
        `is: 'callback'`,
        `type: 'pointer'`,
        label,
        to.kind === 'function' ? `signature: () => (${signature(to, records, false)})` : undefined,
      ])
    case 'resultLength':
      return members([`is: 'resultLength'`, `type: ${writtenType(to)}`, label])
    default:
      return members([`is: '${role.kind}'`, `type: ${signatureType(type, records)}`, label])
  }
}

/** The parameter whose elements are counted, and their size. */
function countedText(of: number, parameters: readonly Parameter[], records: Records): string {
  const size = elementSizeOf(parameters[of]!.type, records)
  return size === 1 ? `of: ${of}` : `of: ${of}, elementSize: ${size}`
}

/** The type of a value that C writes to memory. */
function writtenType(type: Type): string {
  return type.kind === 'scalar' || type.kind === 'enum' ? `'${type.as}'` : `'pointer'`
}

/** The size of the elements to which a pointer points. */
function elementSizeOf(type: Type, records: Records): number {
  return (type.kind === 'pointer' ? sizeOf(type.to, records) : undefined) ?? 1
}

function formText(
  { form, free, isNullable, isNonnull, handle }: ValuePlan,
  type: Type,
  nameFunction: NameFunction,
  elementSize: number | undefined,
  records: Records,
): string | undefined {
  const isCopied = form === 'text' || (form === 'plain' && signatureType(type, records) === `'text'`)
  const close = (name: string): string => `($pointer) => ${nameFunction(name)}($pointer)`
  const parts = [
    isCopied ? 'text: true' : undefined,
    free === undefined ? undefined : `free: ${close(free)}`,
    form === 'number' ? 'number: true' : undefined,
    isNullable ? 'nullable: true' : undefined,
    isNonnull ? 'nonnull: true' : undefined,
    type.kind === 'record' ? `struct: ${identifier(type.id)}` : undefined,
    elementSize === undefined || elementSize === 1 ? undefined : `elementSize: ${elementSize}`,
    handle === undefined
      ? undefined
      : `handle: ${members([
          `class: ${identifier(handle.className)}`,
          `close: ${close(handle.close)}`,
          handle.within === undefined ? undefined : `within: ${handle.within}`,
          handle.isEvenOnError ? 'evenOnError: true' : undefined,
          handle.isFinalized ? 'finalize: true' : undefined,
        ])}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : members(parts)
}

/** The statuses of a module or table as an object. */
export function statusText(
  { success, atLeast, message, otherwise, code, release }: StatusPlan,
  nameFunction: NameFunction,
): string {
  const call = (name: string, argument: string): string => `($${argument}) => ${nameFunction(name)}($${argument})`
  return members([
    success === undefined ? undefined : `success: [${success.join(', ')}]`,
    atLeast === undefined ? undefined : `atLeast: ${atLeast}`,
    message === undefined ? undefined : `message: ${messageText(message, nameFunction)}`,
    otherwise === undefined ? undefined : `otherwise: ${call(otherwise, 'code')}`,
    code === undefined ? undefined : `code: ${call(code, 'status')}`,
    release === undefined ? undefined : `release: ${call(release, 'status')}`,
  ])
}

function messageText(
  { function: name, takesSubject, member }: NonNullable<StatusPlan['message']>,
  nameFunction: NameFunction,
): string {
  const argument = takesSubject ? '$subject' : ''
  const value = `${nameFunction(name)}(${argument})`
  if (member === undefined) return `(${argument}) => ${value}`
  return `(${argument}) => members.textMember(${identifier(member.type)}, ${value}, '${memberKey(member.name)}')`
}
