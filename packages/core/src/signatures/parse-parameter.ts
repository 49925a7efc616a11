import { didYouMean } from '@tenon/binary/internal'
import {
  DEFAULT_STRING_LAYOUT,
  STRING_LAYOUTS,
  stringName,
  stringSize,
  type StringLayout,
} from '../strings/string-layout.ts'
import { isGroup } from './dimension.ts'
import { canonicalName, elementTypeHint } from './element-names.ts'
import type { Dimension, Parameter, ParameterKind, ParameterLayout } from './kernel-signature.ts'
import { parseExpression, parseWholeNumber } from './parse-expression.ts'
import type { TokenReader } from './token-reader.ts'
import type { Token } from './tokens.ts'
import type { DType } from '../types/dtype.ts'

/** The list to which a parameter belongs. */
type Role = 'operand' | 'result' | 'temporary'

/** A parameter as it was read, with the places of the names in it. */
export interface ReadParameter {
  readonly parameter: Parameter
  readonly token: Token
  readonly role: Role
  /** The names of sizes. */
  readonly sizes: readonly Token[]
  /** The `...` of a group of axes, if the shape has one. */
  readonly group: Token | undefined
  /** The operand that the result shares its memory with. */
  readonly alias: Token | undefined
}

/** Reads `(x: f32[n], ...)`. @throws {SignatureError} */
export function parseParameters(reader: TokenReader, role: Role): ReadParameter[] {
  const parameters: ReadParameter[] = []
  reader.expect('(')
  reader.list(')', () => {
    const read = parseParameter(reader, role)
    checkOrder(reader, parameters.at(-1)?.parameter, read)
    parameters.push(read)
  })
  return parameters
}

const ORDER: Readonly<Record<ParameterKind, number>> = { one: 0, optional: 1, remaining: 2 }

function checkOrder(
  reader: TokenReader,
  before: Parameter | undefined,
  { parameter, token, role }: ReadParameter,
): void {
  if (before === undefined) return
  if (before.kind === 'remaining') {
    throw reader.error(token, `${parameter.name} cannot follow ...${before.name}`, {
      hint: `Put ...${before.name} last, because it takes all ${role}s that remain.`,
    })
  }
  if (ORDER[before.kind] <= ORDER[parameter.kind]) return
  throw reader.error(token, `the required ${role} ${parameter.name} cannot follow ${before.name}?`, {
    hint: `Put the required ${role}s first, then the optional ones, then at most one with "...".`,
  })
}

function parseParameter(reader: TokenReader, role: Role): ReadParameter {
  const isRemaining = reader.skip('...')
  const token = reader.name(`the name of ${role === 'operand' ? 'an' : 'a'} ${role}`)
  const name = token.text
  const isOptional = reader.at('?')
  if (isOptional && isRemaining) {
    throw reader.unexpected(`":", because ...${name} takes any number of tensors, also none`)
  }
  reader.skip('?')
  const kind = isRemaining ? 'remaining' : isOptional ? 'optional' : 'one'
  if (role === 'temporary' && kind !== 'one') throw reader.error(token, `the temporary ${name} must be required`)
  reader.expect(':')
  if (reader.atWord('token')) {
    const { start } = reader.take()
    if (kind !== 'one' || role === 'temporary') {
      throw reader.error({ start }, `the token ${name} must be a required operand or result`)
    }
    if (reader.at('@')) throw reader.error(reader.current, `the token ${name} cannot have notes`)
    const parameter = { ...plain(name, kind), isToken: true, shape: [] }
    return { parameter, token, role, sizes: [], group: undefined, alias: undefined }
  }
  const elements = parseElements(reader, role)
  const { shape, sizes, group } = parseShape(reader)
  if (elements.stringLayout !== undefined && role === 'result' && kind !== 'one') {
    throw reader.error(token, `the result ${name} must be required, because its elements are strings`)
  }
  if (elements.stringLayout !== undefined && reader.at('@')) {
    throw reader.error(reader.current, `${name} cannot have notes, because its elements are strings`)
  }
  const notes = parseNotes(reader, { ...plain(name, kind), ...elements, shape }, role)
  return { parameter: notes.parameter, token, role, sizes, group, alias: notes.alias }
}

function plain(name: string, kind: ParameterKind): Parameter {
  return {
    name,
    kind,
    dtypes: [],
    variable: undefined,
    isToken: false,
    shape: undefined,
    alias: undefined,
    isDonated: false,
    layout: undefined,
  }
}

function parseElements(reader: TokenReader, role: Role): Pick<Parameter, 'dtypes' | 'variable' | 'stringLayout'> {
  const { kind, text } = reader.current
  if (kind === 'name' && text === 'string') {
    return { dtypes: ['uint8'], variable: undefined, stringLayout: parseStringLayout(reader, role) }
  }
  if (kind === 'name' && text === 'any') {
    reader.take()
    return { dtypes: [], variable: undefined }
  }
  if (kind === 'name' && isVariable(text)) {
    reader.take()
    return { dtypes: [], variable: text }
  }
  return { dtypes: parseDTypes(reader), variable: undefined }
}

/** Reads `string` or `string<rfc24>`. @throws {SignatureError} */
function parseStringLayout(reader: TokenReader, role: Role): StringLayout {
  const token = reader.take()
  let layout: StringLayout | undefined = DEFAULT_STRING_LAYOUT
  if (reader.skip('<')) {
    const name = reader.name('the layout of the strings')
    layout = STRING_LAYOUTS.find((one) => one === name.text)
    if (layout === undefined) {
      const hint = didYouMean(name.text, STRING_LAYOUTS) ?? `The layouts are ${STRING_LAYOUTS.join(', ')}.`
      throw reader.error(name, `"${name.text}" is not a layout of strings`, { hint })
    }
    reader.expect('>')
  }
  if (role === 'temporary')
    throw reader.error(token, 'a temporary must not have strings, which the kernel could not free')
  if (role === 'operand' || stringSize(layout) > 0) return layout
  throw reader.error(token, `a result must not be ${stringName(layout)}, whose size depends on its strings`, {
    hint: 'Use string<tf>, string<rfc16> or string<rfc24>, which have a struct for each string.',
  })
}

/** Whether a name in the place of an element type is a variable. */
export function isVariable(name: string): boolean {
  return name[0]! >= 'A' && name[0]! <= 'Z'
}

/** Reads `f32 | f64`. @throws {SignatureError} */
export function parseDTypes(reader: TokenReader): DType[] {
  const dtypes: DType[] = []
  do {
    const token = reader.name('an element type')
    const dtype = canonicalName(token.text)
    if (dtype === undefined) {
      const hint = `${elementTypeHint(token.text)} A variable starts with a capital letter.`
      throw reader.error(token, `"${token.text}" is not an element type`, { hint })
    }
    if (dtypes.includes(dtype)) throw reader.error(token, `${dtype} must be listed once`)
    dtypes.push(dtype)
  } while (reader.skip('|'))
  return dtypes
}

function parseShape(reader: TokenReader): Pick<ReadParameter, 'sizes' | 'group'> & Pick<Parameter, 'shape'> {
  const shape: Dimension[] = []
  const sizes: Token[] = []
  let group: Token | undefined
  if (!reader.skip('[')) return { shape, sizes, group }
  reader.list(']', () => {
    const token = reader.current
    if (reader.skip('?')) {
      shape.push(null)
    } else if (reader.skip('...')) {
      if (group !== undefined) throw reader.error(token, 'a shape must have at most one "...", got a second')
      group = token
      shape.push({ group: reader.current.kind === 'name' ? reader.take().text : '' })
    } else {
      shape.push(parseExpression(reader, sizes))
    }
  })
  const isAnyRank = shape.length === 1 && isGroup(shape[0]!) && shape[0].group === ''
  return isAnyRank ? { shape: undefined, sizes, group: undefined } : { shape, sizes, group }
}

type Writable<Fields> = { -readonly [Key in keyof Fields]: Fields[Key] }

function parseNotes(
  reader: TokenReader,
  plainParameter: Parameter,
  role: Role,
): { readonly parameter: Parameter; readonly alias: Token | undefined } {
  const { name, kind } = plainParameter
  const notes: Partial<Writable<Pick<Parameter, 'isDonated' | 'layout'>>> = {}
  let alias: Token | undefined
  while (reader.skip('@')) {
    const token = reader.name('alias, donated, cm or layout')
    const refuse = (sentence: string): Error => reader.error(token, sentence)
    if (role === 'temporary') throw refuse(`the temporary ${name} cannot have notes`)
    switch (token.text) {
      case 'alias': {
        if (role !== 'result') throw refuse(`@alias must be on a result, got the operand ${name}`)
        if (kind !== 'one') throw refuse(`the result ${name} must be required, because it has @alias`)
        if (alias !== undefined) throw refuse(`${name} must have one @alias, got a second`)
        reader.expect('(')
        alias = reader.name('the name of an operand')
        reader.expect(')')
        break
      }
      case 'donated':
        if (role !== 'operand') throw refuse(`@donated must be on an operand, got the result ${name}`)
        if (notes.isDonated === true) throw refuse(`${name} must have one @donated, got a second`)
        notes.isDonated = true
        break
      case 'cm':
      case 'layout':
        if (notes.layout !== undefined) throw refuse(`${name} must have one layout, got a second`)
        notes.layout = token.text === 'cm' ? 'cm' : parseLayout(reader, token)
        checkLayoutRank(reader, token, { ...plainParameter, layout: notes.layout })
        break
      default:
        throw reader.error(token, `@${token.text} is not a note`, {
          hint: 'Use @alias(x), @donated, @cm or @layout(1, 0).',
        })
    }
  }
  return { parameter: { ...plainParameter, ...notes, alias: alias?.text }, alias }
}

function parseLayout(reader: TokenReader, token: Token): ParameterLayout {
  const axes: number[] = []
  reader.expect('(')
  reader.list(')', () => axes.push(parseWholeNumber(reader, 'an axis')))
  const isOrder = axes.length > 0 && axes.every((axis) => axis < axes.length) && new Set(axes).size === axes.length
  if (isOrder) return axes
  throw reader.error(token, 'the layout must have each axis from 0 once', {
    hint: 'List the axes from major to minor: @layout(1, 0) is column-major.',
  })
}

function checkLayoutRank(reader: TokenReader, token: Token, { name, shape, layout }: Parameter): void {
  if (shape === undefined) return
  const hasGroup = shape.some(isGroup)
  const least = shape.length - (hasGroup ? 1 : 0)
  if (layout === 'cm' && !hasGroup && least < 2) {
    throw reader.error(token, `${name} must have at least 2 axes for @cm, got ${least}`)
  }
  if (typeof layout !== 'object' || (hasGroup ? layout.length >= least : layout.length === least)) return
  throw reader.error(
    token,
    `the layout of ${name} must have ${hasGroup ? 'at least ' : ''}${least} axes, got ${layout.length}`,
  )
}
