import { describeType, isDeclarable, type TypeDescription } from '@tenon/packed-func'
import { nameMembers, UNDECLARED } from '@tenon/packed-func/internal'
import { docComment } from '../cli/declare-kernel.ts'
import { fieldSchema, signatureIn, type DeclarationContext } from './declaration-context.ts'
import { quote } from './quote.ts'

type Field = TypeDescription['fields'][number]
type Method = TypeDescription['methods'][number]

/** The lines of members by their names in JavaScript. */
type Members = ReadonlyMap<string, MemberText>

interface MemberText {
  readonly doc: string | undefined
  readonly lines: readonly string[]
}

/** The lists of more fields would be too long. */
const MOST_NAMED = 8

/** The declaration of a class. It extends the class of its nearest ancestor in the file, and has the members of those between. */
export function declareClass(description: TypeDescription, name: string, context: DeclarationContext): string {
  const parent = parentOf(description, context)
  const inherited = {
    instance: inheritedMembers(parent, context, false),
    static: inheritedMembers(parent, context, true),
  }
  const own = { instance: ownMembers(description, context, false), static: ownMembers(description, context, true) }
  const isExported = !name.startsWith('$')
  const changed = { instance: changes(own.instance, inherited.instance), static: changes(own.static, inherited.static) }
  const isCompatible = changed.instance.length === 0 && changed.static.length === 0
  const base = parent === undefined ? UNDECLARED : parent.name
  const lines = [
    ...added(own.static, inherited.static).flatMap(linesOf),
    ...constructorLines(description, context),
    ...added(own.instance, inherited.instance).flatMap(linesOf),
  ]
  return [
    ...(isCompatible ? [] : [baseWithout(`$BaseOf${name}`, base, changed.instance, changed.static)]),
    `${description.doc === undefined ? '' : docComment(description.doc)}${isExported ? 'export' : 'declare'} class ${name} extends ${isCompatible ? base : `$BaseOf${name}`} {`,
    ...lines.map((line) => `  ${line}`),
    '}',
    ...(isExported ? [] : [`export { ${name} as ${name.slice(1)} }`]),
  ].join('\n')
}

/** The nearest ancestor whose class is in the file. */
function parentOf(
  { ancestors }: TypeDescription,
  context: DeclarationContext,
): ReturnType<DeclarationContext['declared']> {
  return ancestors.toReversed().flatMap((key) => context.declared(key) ?? [])[0]
}

/** A type, and its ancestors that are not in the file: the farthest first. */
function flattened(description: TypeDescription, context: DeclarationContext): TypeDescription[] {
  const { ancestors } = description
  const start = ancestors.findLastIndex((key) => context.declared(key) !== undefined) + 1
  const between = ancestors.slice(start).filter((key) => key !== 'ffi.Object')
  return [...between.map((key) => describeType(key)), description]
}

function inheritedMembers(
  parent: ReturnType<DeclarationContext['declared']>,
  context: DeclarationContext,
  isStatic: boolean,
): Members {
  if (parent === undefined) return new Map()
  const above = inheritedMembers(parentOf(parent.type, context), context, isStatic)
  return new Map([...above, ...ownMembers(parent.type, context, isStatic)])
}

function ownMembers(description: TypeDescription, context: DeclarationContext, isStatic: boolean): Members {
  const members = new Map<string, MemberText>()
  for (const type of flattened(description, context)) {
    const methods = type.methods.filter((method) => method.isStatic === isStatic)
    const all: readonly (Field | Method)[] = isStatic ? methods : [...type.fields, ...methods]
    for (const { member, name, camelName } of nameMembers(all, isStatic)) {
      const shown = context.naming === 'camel' ? (camelName ?? name) : name
      const place = `${type.key}.${member.name}`
      const lines =
        'isStatic' in member ? methodLines(member, shown, place, context) : fieldLines(member, shown, place, context)
      members.set(shown, { doc: member.doc, lines })
    }
  }
  return members
}

/** The names of inherited members that the class declares differently. */
const changes = (own: Members, inherited: Members): string[] =>
  [...own].flatMap(([name, text]) => (inherited.has(name) && !isSame(text, inherited.get(name)!) ? [name] : []))

/** The members that the class does not inherit as they are. */
const added = (own: Members, inherited: Members): MemberText[] =>
  [...own].flatMap(([name, text]) => (inherited.has(name) && isSame(text, inherited.get(name)!) ? [] : [text]))

const isSame = (a: MemberText, b: MemberText): boolean => a.lines.join('\n') === b.lines.join('\n')

/** A class without some members of another one, which a class that declares them differently can extend. */
function baseWithout(name: string, base: string, instance: readonly string[], statics: readonly string[]): string {
  const object =
    instance.length === 0
      ? base
      : `${UNDECLARED} & Omit<${base}, keyof ${UNDECLARED} | ${instance.map(quote).join(' | ')}>`
  const omitted = ['prototype', ...statics].map(quote).join(' | ')
  return `declare const ${name}: (abstract new (...values: never[]) => ${object}) & Omit<typeof ${base}, ${omitted}>`
}

const linesOf = ({ doc, lines }: MemberText): string[] => [...docLines(doc), ...lines]

const docLines = (doc: string | undefined): string[] => (doc === undefined ? [] : docComment(doc).trimEnd().split('\n'))

/** The name of a member. A static method named `constructor` would be read as a constructor, even in quotes. */
function propertyName(name: string): string {
  if (name === 'constructor') return "['constructor']"
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}

function fieldLines({ type, writable }: Field, name: string, place: string, context: DeclarationContext): string[] {
  const schema = fieldSchema(type)
  const getter = `get ${propertyName(name)}(): ${context.resultText(place, schema)}`
  return writable ? [getter, `set ${propertyName(name)}(value: ${context.text(schema, 'argument')})`] : [getter]
}

function methodLines({ type, isStatic }: Method, name: string, place: string, context: DeclarationContext): string[] {
  const [result, ...parameters] = signatureIn(type) ?? []
  const head = `${isStatic ? 'static ' : ''}${propertyName(name)}`
  if (result === undefined) return [`${head}(...values: Argument[]): Value`]
  // The first parameter of an instance method is the object.
  const passed = isStatic ? parameters : parameters.slice(1)
  return [`${head}(${context.parameters(passed, false)}): ${context.resultText(place, result)}`]
}

function constructorLines(description: TypeDescription, context: DeclarationContext): string[] {
  if (description.constructable === false) return ['protected constructor()']
  if (description.constructable === 'fields') return fieldConstructor(description, context)
  const init = description.methods.find(({ name }) => name === '__ffi_init__')
  const signature = signatureIn(init?.type)
  const parameters = signature === undefined ? '...values: Argument[]' : context.parameters(signature.slice(1), true)
  return [...docLines(init?.doc), `constructor(${parameters})`]
}

/** A constructor with a value for each field, and one whose last values have names. */
function fieldConstructor({ ancestors, fields }: TypeDescription, context: DeclarationContext): string[] {
  const inherited = ancestors.filter((key) => key !== 'ffi.Object').flatMap((key) => describeType(key).fields)
  const accepted = [...inherited, ...fields].filter(({ init }) => init)
  const positional = accepted.filter(({ keywordOnly }) => !keywordOnly)
  const ordered = [...positional.filter((field) => !hasDefault(field)), ...positional.filter(hasDefault)]
  const used = new Set<string>(['named'])
  const places = ordered.map((field, i) => {
    const name = isDeclarable(field.name) && !used.has(field.name) ? field.name : `a${i}`
    used.add(name)
    return { name, type: context.text(fieldSchema(field.type), 'argument'), isOptional: hasDefault(field) }
  })
  const needsNames = accepted.some((field) => field.keywordOnly && !hasDefault(field))
  const all = places.map(({ name, type, isOptional }) => `${name}${isOptional ? '?' : ''}: ${type}`).join(', ')
  return [
    ...(needsNames ? [] : [`constructor(${all})`]),
    ...(accepted.length === 0 ? [] : [`constructor(...values: ${namedForms(places)})`]),
  ]
}

const hasDefault = (field: Field): boolean => field.hasDefault

/** The lists of values that end with named ones. */
function namedForms(places: readonly { readonly name: string; readonly type: string }[]): string {
  if (places.length > MOST_NAMED) {
    return `[...values: (${[...new Set(places.map(({ type }) => type))].join(' | ')})[], named: Kwargs]`
  }
  const parts = places.map(({ name, type }) => `${name}: ${type}`)
  return Array.from(
    { length: parts.length + 1 },
    (_, i) => `[${[...parts.slice(0, parts.length - i), 'named: Kwargs'].join(', ')}]`,
  ).join(' | ')
}
