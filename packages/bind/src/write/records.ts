import type { BoundRecord, Member, ScalarKind, Type } from '../model/model.ts'
import { identifier } from './identifiers.ts'
import type { ModulePart } from './module-part.ts'
import { argumentOfScalar, brandOf, pointerTo, typeOfScalar } from './types.ts'

const SIZES: Readonly<Record<ScalarKind, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
}

const methodOf = (as: ScalarKind): string => as[0]!.toUpperCase() + as.slice(1)

/** A struct or union as a class with one accessor for each member, or only as the type of pointers if it is opaque. */
export function writeRecord(record: BoundRecord, records: ReadonlyMap<string, BoundRecord>): ModulePart | undefined {
  const { id, layout } = record
  if (!layout) return undefined
  const name = identifier(id)
  const members = layout.members.map((member) => writeMember(member, records)).filter((member) => member !== undefined)
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
      ...(layoutText === undefined ? [] : [`  static readonly layout: StructLayout`]),
      ...members.flatMap(({ declaration }) => declaration.map((line) => `  ${line}`)),
      '}',
    ].join('\n'),
  }
}

interface Accessor {
  readonly code: readonly string[]
  readonly declaration: readonly string[]
}

const isIdentifier = (name: string): boolean => !/^(?:segment|constructor)$/.test(name)

function accessor(
  name: string,
  type: string,
  read: string,
  write?: { readonly type: string; readonly code: string },
): Accessor {
  // A member must not hide the memory of the object itself.
  const key = isIdentifier(name) ? name : `${name}_`
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

function writeMember(member: Member, records: ReadonlyMap<string, BoundRecord>): Accessor | undefined {
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
): Accessor {
  const isAligned = byteOffset % SIZES[as] === 0
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
): Accessor | undefined {
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

function sizeOf(type: Type, records: ReadonlyMap<string, BoundRecord>): number | undefined {
  if (type.kind === 'scalar' || type.kind === 'enum') return SIZES[type.as]
  if (type.kind === 'pointer') return 8
  if (type.kind === 'record') return records.get(type.id)?.layout?.byteSize
  if (type.kind !== 'array' || type.count === undefined) return undefined
  const element = sizeOf(type.of, records)
  return element === undefined ? undefined : element * type.count
}

/** The layout of a struct that can be passed by value: its members with their offsets. */
function structLayout({ kind, layout }: BoundRecord, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  if (kind === 'union' || !layout) return undefined
  const members: string[] = []
  let end = 0
  for (const member of layout.members) {
    if (member.kind === 'bits' || member.byteOffset < end) return undefined
    const text = layoutExpression(member.type, records)
    const size = sizeOf(member.type, records)
    if (text === undefined || size === undefined) return undefined
    members.push(`${JSON.stringify(member.name)}: [${member.byteOffset}, ${text}]`)
    end = member.byteOffset + size
  }
  return `{ ${members.join(', ')} }`
}

function layoutExpression(type: Type, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  if (type.kind === 'scalar' || type.kind === 'enum') return `'${type.as}'`
  if (type.kind === 'pointer') return `'pointer'`
  if (type.kind === 'array' && type.count !== undefined) {
    const element = layoutExpression(type.of, records)
    return element === undefined ? undefined : `[${type.count}, ${element}]`
  }
  if (type.kind !== 'record') return undefined
  const record = records.get(type.id)
  return record && structLayout(record, records) !== undefined ? `${identifier(type.id)}.layout` : undefined
}
