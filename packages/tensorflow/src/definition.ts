import type { SignatureError } from '@tenon/core'
import type { Token } from '@tenon/core/internal'
import { integerOf, readDefault, textOf } from './default-value.ts'
import { TYPE_GROUPS, typeInDefinition, type ElementType } from './element-types.ts'
import { limitOf } from './limits.ts'
import {
  ATTRIBUTE_KINDS,
  type AttributeDefinition,
  type OperandDefinition,
  type OperationDefinition,
} from './operation.ts'
import type { DefinitionText } from './registration.ts'
import { SpecReader } from './spec-reader.ts'
import { readBytes } from './text-format.ts'

/**
 * Reads the definition of an operation as a library registered it, in the notation of TensorFlow.
 *
 * @throws {SignatureError} with the column in the text of the first operand or attribute that cannot be read.
 */
export function parseDefinition({ name, inputs, outputs, attributes }: DefinitionText): OperationDefinition {
  const names = new Set<string>()
  const known = new Map<string, AttributeDefinition>()
  const defaults: [attribute: string, refuse: (expected: string) => SignatureError][] = []
  for (const text of attributes) {
    const reader = new SpecReader(text)
    const { attribute, place } = readAttribute(reader, text, names)
    known.set(attribute.name, attribute)
    defaults.push([attribute.name, (expected) => reader.error(place, `the default must be ${expected}`)])
  }
  const read = (text: string): OperandDefinition => readOperand(new SpecReader(text), text, names, known)
  const operands = { inputs: inputs.map(read), outputs: outputs.map(read) }
  // The operands determine the least lengths of lists, which hold for the defaults as well.
  for (const [attribute, refuse] of defaults) {
    const { fallback } = known.get(attribute)!
    const limit = fallback === undefined ? undefined : limitOf(known.get(attribute)!, fallback)
    if (limit !== undefined) throw refuse(limit)
  }
  return { name, ...operands, attributes: [...known.values()] }
}

function readName(reader: SpecReader, names: Set<string>, pattern: RegExp, what: string): string {
  const token = reader.read(what, 'name')
  if (!pattern.test(token.text)) throw reader.error(token, `expected ${what}, got "${token.text}"`)
  if (names.has(token.text)) throw reader.error(token, `${token.text} is the name of two parts of the definition`)
  names.add(token.text)
  reader.expect(':')
  return token.text
}

/** Reads an attribute, and returns it with the place of its default. */
function readAttribute(
  reader: SpecReader,
  text: string,
  names: Set<string>,
): { readonly attribute: AttributeDefinition; readonly place: Token } {
  const { current } = reader
  const name = readName(reader, names, /^[A-Za-z]/, 'the name of an attribute, which begins with a letter')
  if (typeInDefinition(name) !== undefined)
    throw reader.error(current, `an attribute must not have the name of the element type ${name}`)
  const notation = text.slice(text.indexOf(':') + 1).trim()
  const isList = reader.skip('list')
  if (isList) reader.expect('(')
  const { kind, allowed } = readKind(reader)
  if (isList) reader.expect(')')
  const minimum = (isList || kind === 'int') && reader.skip('>=') ? readInteger(reader) : undefined
  if (isList && minimum !== undefined && minimum < 0n)
    throw reader.error(current, `the least length must be at least 0, got ${minimum}`)
  const place = reader.current
  const fallback = reader.skip('=') ? readDefault(reader, kind, isList) : undefined
  reader.finish()
  return { attribute: { name, notation, kind, isList, allowed, minimum, fallback }, place }
}

function readKind(reader: SpecReader): Pick<AttributeDefinition, 'kind' | 'allowed'> {
  const token = reader.current
  if (reader.skip('{')) return readSet(reader)
  const { text } = reader.read('the type of an attribute', 'name')
  const group = TYPE_GROUPS.get(text)
  if (group !== undefined) return { kind: 'type', allowed: group }
  const kind = ATTRIBUTE_KINDS.find((one) => one === text)
  if (kind !== undefined) return { kind, allowed: undefined }
  throw reader.error(token, `"${text}" is not the type of an attribute`, {
    hint: `The types are ${ATTRIBUTE_KINDS.join(', ')}.`,
  })
}

/** Reads `{float, half}` or `{'a', 'b'}`, in which a comma may follow the last value. */
function readSet(reader: SpecReader): Pick<AttributeDefinition, 'kind' | 'allowed'> {
  const isText = reader.current.kind === 'string'
  const allowed: (ElementType | string | Uint8Array)[] = []
  do {
    if (isText) allowed.push(textOf(readBytes(reader)))
    else allowed.push(...readTypes(reader))
  } while (reader.either(',', '}') === ',' && !reader.skip('}'))
  return { kind: isText ? 'string' : 'type', allowed }
}

function readTypes(reader: SpecReader): readonly ElementType[] {
  const token = reader.read('an element type', 'name')
  const type = typeInDefinition(token.text)
  const types = type === undefined ? TYPE_GROUPS.get(token.text) : [type]
  if (types === undefined) throw unknownType(reader, token)
  return types
}

const unknownType = (reader: SpecReader, token: Token): SignatureError =>
  reader.error(token, `"${token.text}" is not an element type of TensorFlow`)

function readInteger(reader: SpecReader): bigint {
  const token = reader.current
  const text = (reader.skip('-') ? '-' : '') + reader.read('a whole number', 'number').text
  const value = /^-?\d+$/.test(text) ? integerOf(text.replace(/^(-?)0+(?=\d)/, '$1')) : undefined
  if (value === undefined) throw reader.error(token, `the least value must be a whole number of 64 bits, got ${text}`)
  return value
}

function readOperand(
  reader: SpecReader,
  text: string,
  names: Set<string>,
  attributes: Map<string, AttributeDefinition>,
): OperandDefinition {
  const name = readName(reader, names, /^[a-z][a-z\d_]*$/, 'a name of lower-case letters, digits and underscores')
  const notation = text.slice(text.indexOf(':') + 1).trim()
  const isRef = reader.skip('Ref')
  if (isRef) reader.expect('(')
  const first = reader.read('an element type or the name of an attribute', 'name')
  const countAttribute = reader.skip('*') ? first.text : undefined
  const token =
    countAttribute === undefined ? first : reader.read('an element type or the name of an attribute', 'name')
  if (isRef) reader.expect(')')
  reader.finish()
  const type = typeInDefinition(token.text)
  const attribute = attributes.get(token.text)
  if (type === undefined && attribute === undefined) throw unknownType(reader, token)
  if (type === undefined && attribute!.kind !== 'type') {
    throw reader.error(token, `${token.text} must be an attribute of the kind type, got ${attribute!.notation}`)
  }
  const isTypeList = type === undefined && attribute!.isList
  if (countAttribute !== undefined) {
    if (isTypeList) throw reader.error(token, `a list must have a number or a list of types, got both`)
    const count = attributes.get(countAttribute)
    if (count?.kind !== 'int' || count.isList)
      throw reader.error(first, `${countAttribute} must be an attribute of the kind int`)
    if ((count.minimum ?? 1n) < 0n) throw reader.error(first, `the least value of ${countAttribute} must be at least 0`)
  }
  const list = countAttribute ?? (isTypeList ? token.text : undefined)
  // A list has at least one tensor, unless its attribute says otherwise.
  if (list !== undefined)
    attributes.set(list, { ...attributes.get(list)!, minimum: attributes.get(list)!.minimum ?? 1n })
  return {
    name,
    notation,
    isRef,
    countAttribute,
    type,
    typeAttribute: type === undefined && !isTypeList ? token.text : undefined,
    listAttribute: isTypeList ? token.text : undefined,
  }
}
