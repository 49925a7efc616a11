import type { CType, EnumDeclaration, MacroDefinition, MemberDeclaration, RecordDeclaration } from '../read/c-types.ts'
import { withoutTypedefs } from '../read/c-types.ts'
import type { Declarations } from '../read/declarations.ts'
import type { HeaderCompiler } from '../read/preprocess.ts'
import { type Answer, askCompiler, OBJECT, type Question } from './probe-object.ts'

/** The size of a scalar type in bytes, and its class. */
export interface ScalarFacts {
  readonly byteSize: number
  readonly isSigned: boolean
  readonly isReal: boolean
}

export interface RecordFacts {
  readonly byteSize: number
  readonly byteAlignment: number
  /** Offsets of members by name, in bytes, also of those of structs and unions without a name. */
  readonly offsets: ReadonlyMap<string, number>
  /** The first bit and the number of bits of each bit-field by name. */
  readonly bits: ReadonlyMap<string, BitField>
}

export interface BitField {
  readonly bitOffset: number
  readonly bitWidth: number
}

export interface EnumFacts {
  readonly byteSize: number
  readonly isSigned: boolean
}

/** The answers of the compiler about types. A type that it cannot be asked about is missing. */
export interface Layouts {
  readonly scalars: ReadonlyMap<string, ScalarFacts>
  readonly records: ReadonlyMap<RecordDeclaration, RecordFacts>
  readonly enums: ReadonlyMap<EnumDeclaration, EnumFacts>
  readonly enumerators: ReadonlyMap<string, bigint>
  /** The values of the expressions in sizes of arrays. */
  readonly counts: ReadonlyMap<string, number>
  /** Sizes of variables in bytes. */
  readonly variables: ReadonlyMap<string, number>
}

/** A question with what to do with its answer, which is undefined where the compiler refuses the question. */
interface Inquiry {
  readonly question: Question
  readonly use: (answer: Exclude<Answer, undefined>) => void
}

/** Asks the compiler for sizes, offsets and values of everything that the headers declare. */
export async function askLayouts(
  compiler: HeaderCompiler,
  declarations: Declarations,
  macros: ReadonlyMap<string, MacroDefinition>,
): Promise<Layouts> {
  nameRecords(declarations)
  const inquiries: Inquiry[] = []
  const word = (expression: string, use: (answer: bigint) => void): void => {
    inquiries.push({ question: { kind: 'word', expression }, use: (answer) => use(answer as bigint) })
  }

  const scalars = new Map<string, ScalarFacts>()
  const { scalarNames, countTexts } = typesIn(declarations)
  for (const name of scalarNames) {
    word(
      `sizeof(${name}) | (((${name})-1 < 0) ? 256 : 0) | (__builtin_classify_type((${name})0) == 8 ? 512 : 0)`,
      (answer) => {
        const bits = Number(answer)
        scalars.set(name, { byteSize: bits & 255, isSigned: (bits & 256) !== 0, isReal: (bits & 512) !== 0 })
      },
    )
  }

  const counts = new Map<string, number>()
  for (const text of countTexts) word(text, (answer) => counts.set(text, Number(answer)))

  const enums = new Map<EnumDeclaration, EnumFacts>()
  const enumerators = new Map<string, bigint>()
  for (const enumeration of declarations.enums) {
    const { spelling } = enumeration
    if (spelling !== undefined && enumeration.enumerators !== undefined)
      word(`sizeof(${spelling}) | (((${spelling})-1 < 0) ? 256 : 0)`, (answer) => {
        const bits = Number(answer)
        enums.set(enumeration, { byteSize: bits & 255, isSigned: (bits & 256) !== 0 })
      })
    for (const { name } of enumeration.enumerators ?? []) {
      word(name, (answer) => enumerators.set(name, answer))
      word(`(${name}) < 0`, (answer) => {
        const value = enumerators.get(name)
        if (answer !== 0n && value !== undefined) enumerators.set(name, BigInt.asIntN(64, value))
      })
    }
  }

  const records = new Map<RecordDeclaration, RecordFacts>()
  for (const record of declarations.records) {
    if (record.members === undefined || record.spelling === undefined || record.isDefinedTwice) continue
    const { spelling } = record
    const offsets = new Map<string, number>()
    const bits = new Map<string, BitField>()
    word(`sizeof(${spelling})`, (size) =>
      records.set(record, { byteSize: Number(size), byteAlignment: 1, offsets, bits }),
    )
    word(`_Alignof(${spelling})`, (alignment) => {
      const facts = records.get(record)
      if (facts) records.set(record, { ...facts, byteAlignment: Number(alignment) })
    })
    for (const { name, bits: width } of namedMembers(record.members)) {
      if (width === undefined) {
        word(`__builtin_offsetof(${spelling}, ${name})`, (offset) => offsets.set(name, Number(offset)))
      } else {
        const question: Question = {
          kind: 'bytes',
          declaration: `${spelling} ${OBJECT}`,
          initialiser: `{ .${name} = -1 }`,
        }
        inquiries.push({ question, use: (answer) => bits.set(name, positionOf(answer as Uint8Array)) })
      }
    }
  }

  const variables = new Map<string, number>()
  for (const { name } of declarations.variables.values())
    word(`sizeof(${name})`, (size) => variables.set(name, Number(size)))

  const answers = await askCompiler(
    compiler,
    inquiries.map(({ question }) => question),
    undefineMembers(declarations, macros),
  )
  for (const [index, { use }] of inquiries.entries()) {
    const answer = answers[index]
    if (answer !== undefined) use(answer)
  }
  return { scalars, records, enums, enumerators, counts, variables }
}

/** Members that can be named, including those of structs and unions without a name, which belong to the outer one. */
export function* namedMembers(
  members: readonly MemberDeclaration[],
): Generator<MemberDeclaration & { readonly name: string }> {
  for (const member of members) {
    const { name, type } = member
    if (name !== undefined) yield { ...member, name }
    else if (type.kind === 'record' && type.record.members) yield* namedMembers(type.record.members)
  }
}

/** A macro with the name of a member would expand in questions about it, as `#define xmlGenericError (*(__xmlGenericError()))`. */
function undefineMembers(declarations: Declarations, macros: ReadonlyMap<string, MacroDefinition>): string {
  const names = new Set(
    declarations.records.flatMap(({ members }) => [...namedMembers(members ?? [])].map(({ name }) => name)),
  )
  return [...names]
    .filter((name) => macros.has(name))
    .map((name) => `#undef ${name}\n`)
    .join('')
}

/** The first bit that is set, and the number of those after it. */
function positionOf(bytes: Uint8Array): BitField {
  const isSet = (bit: number): boolean => ((bytes[bit >> 3]! >> (bit & 7)) & 1) === 1
  const count = bytes.length * 8
  let bitOffset = 0
  while (bitOffset < count && !isSet(bitOffset)) bitOffset++
  let end = bitOffset
  while (end < count && isSet(end)) end++
  return { bitOffset, bitWidth: end - bitOffset }
}

/** Gives structs, unions and enumerations without a tag or a typedef the name by which C reaches them: through the member that has it. */
function nameRecords({ records, variables }: Declarations): void {
  for (const { name, type } of variables.values()) nameType(type, name)
  for (const record of records) nameMembers(record)
}

function nameMembers(record: RecordDeclaration): void {
  const { spelling, members } = record
  if (spelling === undefined || members === undefined) return
  for (const { name, type } of namedMembers(members)) nameType(type, `((${spelling} *)0)->${name}`)
}

function nameType(type: CType, expression: string): void {
  if (type.kind === 'array') nameType(type.of, `${expression}[0]`)
  else if (type.kind === 'pointer') nameType(type.to, `(*${expression})`)
  else if (type.kind === 'enum') type.enumeration.spelling ??= `__typeof__(${expression})`
  else if (type.kind === 'record' && type.record.spelling === undefined) {
    type.record.spelling = `__typeof__(${expression})`
    nameMembers(type.record)
  }
}

// Types that compare and convert differently, and that no module has.
const NOT_ASKED = /_Complex|_Imaginary|_Decimal|_Accum|_Fract|_Sat/

function typesIn({ functions, variables, typedefs, records }: Declarations): {
  scalarNames: Set<string>
  countTexts: Set<string>
} {
  const scalarNames = new Set<string>()
  const countTexts = new Set<string>()
  const seen = new Set<string>()
  const visit = (type: CType): void => {
    switch (type.kind) {
      case 'scalar':
        if (!NOT_ASKED.test(type.name)) scalarNames.add(type.name)
        break
      case 'pointer':
        visit(type.to)
        break
      case 'array':
        if (type.count !== undefined) countTexts.add(type.count)
        visit(type.of)
        break
      case 'function':
        visit(type.result)
        for (const parameter of type.parameters) visit(parameter.type)
        break
      case 'typedef':
        if (seen.has(type.name)) break
        seen.add(type.name)
        visit(withoutTypedefs(type))
        break
    }
  }
  for (const { type } of functions.values()) visit(type)
  for (const { type } of variables.values()) visit(type)
  for (const { type } of typedefs.values()) visit(type)
  for (const { members } of records) for (const { type } of members ?? []) visit(type)
  return { scalarNames, countTexts }
}
