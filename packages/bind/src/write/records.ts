import type { BoundRecord, Member, ScalarKind, Type } from '../model/model.ts'
import type { NameFunction } from './call-signature.ts'
import { type ClassMember, memberKey } from './class-member.ts'
import { identifier } from './identifiers.ts'
import { functionMember, statusMember, tableNames, writeAssign, writeMethod } from './methods.ts'
import type { ModulePart } from './module-part.ts'
import { structLayout } from './struct-layout.ts'
import { argumentOfScalar, brandOf, pointerTo, sizeOf, typeOfScalar } from './types.ts'
import { scalarSizes } from '../model/scalar-sizes.ts'

const methodOf = (as: ScalarKind): string => as[0]!.toUpperCase() + as.slice(1)

/**
 * A struct or union as a class with one accessor for each member, or only as the type of pointers if it is opaque.
 *
 * @param alignment the alignment that the memory of the record has at least
 */
export function writeRecord(
  record: BoundRecord,
  records: ReadonlyMap<string, BoundRecord>,
  nameFunction: NameFunction,
  alignment: number,
): ModulePart | undefined {
  const { id, layout } = record
  if (!layout) return undefined
  const name = identifier(id)
  const names = tableNames(record, nameFunction)
  const functions = layout.members.flatMap((member) => functionMember(member, records) ?? [])
  const members = [
    ...(record.table?.status ? [statusMember(record.table.status, names)] : []),
    ...layout.members.flatMap((member) => {
      const one = functionMember(member, records)
      const written = one
        ? writeMethod(one, record.table?.isVolatile ?? false, records, names)
        : writeMember(member, records, alignment)
      return written ?? []
    }),
    ...(functions.length === 0 ? [] : [writeAssign(name, functions, records)]),
  ]
  const layoutText = structLayout(record, records)
  return {
    code: [
      `export class ${name} extends Struct {`,
      `  static byteSize = ${layout.byteSize}`,
      `  static byteAlignment = ${layout.byteAlignment}`,
      ...(layoutText === undefined
        ? []
        : [`  static get layout() {`, `    return members.layoutOf(${name}, () => (${layoutText}))`, `  }`]),
      ...members.flatMap(({ code }) => code.map((line) => `  ${line}`)),
      '}',
    ].join('\n'),
    declaration: [
      `export declare class ${name} extends Struct<'${brandOf({ kind: 'record', id })}'> {`,
      ...(layoutText === undefined
        ? []
        : [`  static readonly layout: ${record.kind === 'union' ? 'UnionLayout' : 'StructLayout'}`]),
      ...members.flatMap(({ declaration }) => declaration.map((line) => `  ${line}`)),
      '}',
    ].join('\n'),
  }
}

function accessor(
  name: string,
  type: string,
  read: string,
  write?: { readonly type: string; readonly code: string },
): ClassMember {
  const key = memberKey(name)
  return {
    code: [
      `get ${key}() {`,
      `  return ${read}`,
      `}`,
      ...(write ? [`set ${key}(value) {`, `  ${write.code}`, `}`] : []),
    ],
    declaration: [`get ${key}(): ${type}`, ...(write ? [`set ${key}(value: ${write.type})`] : [])],
  }
}

function writeMember(
  member: Member,
  records: ReadonlyMap<string, BoundRecord>,
  alignment: number,
): ClassMember | undefined {
  const { name, isConst } = member
  if (member.kind === 'bits') {
    const { as, bitOffset, bitWidth } = member
    const place = `this.segment, ${bitOffset}, ${bitWidth}`
    const type = as === 'bool' ? 'boolean' : bitWidth > 53 ? 'bigint' : 'number'
    const write = {
      type: type === 'bigint' ? 'number | bigint' : type,
      code: `members.writeBits(${place}, '${as}', value)`,
    }
    return accessor(name, type, `members.readBits(${place}, '${as}')`, isConst ? undefined : write)
  }
  const { type, byteOffset } = member
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return scalarMember(
        name,
        type.as,
        type.kind === 'enum' && type.id !== undefined ? identifier(type.id) : undefined,
        byteOffset,
        isConst,
        alignment,
      )
    case 'pointer': {
      const write = {
        type: `${pointerTo(type.to)} | null`,
        code: `members.writePointer(this.segment, ${byteOffset}, value)`,
      }
      return accessor(
        name,
        pointerTo(type.to),
        `members.readPointer(this.segment, ${byteOffset})`,
        isConst ? undefined : write,
      )
    }
    case 'record':
      return records.get(type.id)?.layout
        ? accessor(name, identifier(type.id), `${identifier(type.id)}.at(this.segment, ${byteOffset})`)
        : undefined
    case 'array':
      return arrayMember(name, type, byteOffset, isConst, records)
    case 'unsupported':
    case 'function':
    case 'void':
    case 'va_list':
      return undefined
  }
}

function scalarMember(
  name: string,
  as: ScalarKind,
  enumeration: string | undefined,
  byteOffset: number,
  isConst: boolean,
  alignment: number,
): ClassMember {
  const isAligned = byteOffset % scalarSizes[as] === 0 && alignment >= scalarSizes[as]
  const method = methodOf(as)
  const read = isAligned
    ? `this.segment.get${method}(${byteOffset})`
    : `members.readUnaligned(this.segment, ${byteOffset}, '${as}')`
  const write = isAligned
    ? `this.segment.set${method}(${byteOffset}, value)`
    : `members.writeUnaligned(this.segment, ${byteOffset}, '${as}', value)`
  return accessor(
    name,
    enumeration ?? typeOfScalar(as),
    read,
    isConst ? undefined : { type: enumeration ?? argumentOfScalar(as), code: write },
  )
}

function arrayMember(
  name: string,
  { of, count }: Extract<Type, { kind: 'array' }>,
  byteOffset: number,
  isConst: boolean,
  records: ReadonlyMap<string, BoundRecord>,
): ClassMember | undefined {
  if (of.kind === 'scalar' && of.c === 'char' && count !== undefined && count > 0) {
    const write = { type: 'string', code: `members.writeText(this.segment, ${byteOffset}, ${count}, value)` }
    return accessor(
      name,
      'string',
      `members.readText(this.segment, ${byteOffset}, ${count})`,
      isConst ? undefined : write,
    )
  }
  const size = count === undefined ? undefined : sizeOf({ kind: 'array', of, count }, records)
  return accessor(
    name,
    pointerTo(of),
    size === undefined ? `this.segment.asSlice(${byteOffset})` : `this.segment.asSlice(${byteOffset}, ${size})`,
  )
}
