import type { CallPlan, StatusPlan } from '../model/call-plan.ts'
import type { BoundRecord, FunctionType, Member, Type } from '../model/model.ts'
import { type CallNames, type NameFunction, statusText } from './call-signature.ts'
import { type ClassMember, memberKey } from './class-member.ts'
import { callableText } from './functions.ts'
import { identifier, objectKey } from './identifiers.ts'
import { structLayout } from './struct-layout.ts'
import { callbackType, signature } from './types.ts'

type Records = ReadonlyMap<string, BoundRecord>

/** A function pointer of a struct, which is a method of its class. */
export interface FunctionMember {
  readonly name: string
  readonly type: FunctionType
  readonly byteOffset: number
  readonly call: CallPlan | undefined
  readonly isConst: boolean
}

/** A member as a function pointer that can be called. Undefined for other members. */
export function functionMember(member: Member, records: Records): FunctionMember | undefined {
  if (member.kind !== 'field' || member.type.kind !== 'pointer') return undefined
  const { name, type, byteOffset, call, isConst } = member
  if (type.to.kind !== 'function') return undefined
  const types = [type.to.result, ...type.to.parameters.map((parameter) => parameter.type)]
  return types.every((one) => isPassed(one, records)) ? { name, type: type.to, byteOffset, call, isConst } : undefined
}

/** Whether a call can pass a type. Structs with bit-fields have no layout. */
function isPassed(type: Type, records: Records): boolean {
  if (type.kind !== 'record') return type.kind !== 'unsupported' && type.kind !== 'function'
  const record = records.get(type.id)
  return record !== undefined && structLayout(record, records) !== undefined
}

/** How calls of a table name functions: those of the table are methods. */
export function tableNames({ layout, table }: BoundRecord, nameFunction: NameFunction): CallNames {
  const own = new Set((layout?.members ?? []).map(({ name }) => name))
  return {
    nameFunction: (name) => (own.has(name) ? `this.${memberKey(name)}` : nameFunction(name)),
    status: table?.status ? 'this.#$status' : '$$status',
  }
}

/** A method that calls a function pointer, which is linked when it is first called. */
export function writeMethod(
  { name, type, byteOffset, call }: FunctionMember,
  isVolatile: boolean,
  records: Records,
  names: CallNames,
): ClassMember {
  const { list, types, asyncTypes, result, signature: text, finish } = callableText(type, call, records, names)
  const key = memberKey(name)
  const field = `this.#${key}`
  const link = (previous: string): string => `library.linkMember(this, '${name}', ${byteOffset}, ${text}${previous})`
  // A statement that begins with a parenthesis continues the line before it, so these begin with return.
  const linked = isVolatile ? `(${field} = ${link(`, ${field}`)})` : `(${field} ??= ${link('')})`
  // A function with a member .async is an object, which a getter returns.
  if (call?.isAsync === true)
    return {
      code: [`#${key}`, `get ${key}() {`, `  return ${linked}`, `}`],
      declaration: [`readonly ${key}: { (${types}): ${result}; async(${asyncTypes}): Promise<${result}> }`],
    }
  return {
    code: [`#${key}`, `${key}(${list}) {`, `  return ${finish(`${linked}(${list})`)}`, `}`],
    declaration: [`${key}(${types}): ${result}`],
  }
}

/** The statuses of a table, as its calls name them. */
export const statusMember = (status: StatusPlan, { nameFunction }: CallNames): ClassMember => ({
  code: [`get #$status() {`, `  return ${statusText(status, nameFunction)}`, `}`],
  declaration: [],
})

/** The function that fills the function pointers of a struct with functions of TypeScript. */
export function writeAssign(className: string, functions: readonly FunctionMember[], records: Records): ClassMember {
  const writable = functions.filter(({ isConst, type }) => !isConst && !type.isVariadic)
  const table = writable.map(
    ({ name, byteOffset, type }) => `${objectKey(name)}: [${byteOffset}, ${signature(type, records, false)}]`,
  )
  const types = writable.map(({ name, type }) => `${memberName(name)}?: ${callbackType(type)} | MemorySegment | null`)
  return {
    code: [`static assign(target, functions) {`, `  members.assign(target, functions, { ${table.join(', ')} })`, `}`],
    declaration: [
      `/** Makes C call functions of TypeScript through these pointers, until the scope of the memory closes. */`,
      `static assign(target: ${className}, functions: { ${types.map((type) => `readonly ${type}`).join('; ')} }): void`,
    ],
  }
}

const memberName = (name: string): string => (identifier(name) === name ? name : JSON.stringify(name))
