import type { ModulePart } from './module-part.ts'

/** The declarations of one platform by their names, in order. */
export interface PlatformParts {
  readonly target: string
  readonly parts: ReadonlyMap<string, ModulePart>
}

/**
 * One list of declarations for several platforms. A declaration whose code differs is chosen when the module is loaded. Its type is what all
 * platforms have in common: a value of the type of any of them.
 */
export function mergeParts(platforms: readonly PlatformParts[]): ModulePart[] {
  const names = new Set(platforms.flatMap(({ parts }) => [...parts.keys()]))
  return [...names].map((name) => {
    const variants = platforms.flatMap(({ target, parts }): Variant[] => {
      const part = parts.get(name)
      return part ? [{ target, ...part }] : []
    })
    const isEverywhere = variants.length === platforms.length
    return { code: mergeCode(variants, isEverywhere), declaration: mergeDeclarations(variants, isEverywhere) }
  })
}

interface Variant extends ModulePart {
  readonly target: string
}

const EXPORTED = /^export (?:const|function|class) ([\p{ID_Continue}$]+)/mu
const CONSTANT = /^export const [\p{ID_Continue}$]+ = (.*)$/u

function mergeCode(variants: readonly Variant[], isEverywhere: boolean): string {
  const targets = new Map<string, string[]>()
  for (const { target, code } of variants) targets.set(code, [...(targets.get(code) ?? []), target])
  const [first = ''] = targets.keys()
  const name = EXPORTED.exec(first)?.[1]
  // A function that only some libraries have is looked up when it is called, and an enumeration is only a type.
  if (name === undefined || (targets.size === 1 && (isEverywhere || /^export function/m.test(first)))) return first
  const cases = [...targets].map(([code, keys]) => {
    const value = CONSTANT.exec(code)?.[1]
    const make = value === undefined ? `() => {\n${code.replace(/^export /m, '')}\nreturn ${name}\n}` : `() => ${value}`
    return `  '${keys.join(' ')}': ${make},`
  })
  return `export const ${name} = library.choose({\n${cases.join('\n')}\n})`
}

function mergeDeclarations(variants: readonly Variant[], isEverywhere: boolean): string {
  const declarations = [...new Set(variants.map(({ declaration }) => declaration))]
  const [first = ''] = declarations
  const [comment, bare] = splitComment(first)
  if (declarations.length === 1 && (isEverywhere || !bare.startsWith('export declare const'))) return first
  const texts = declarations.map((declaration) => splitComment(declaration)[1])
  if (texts.every((text) => text.startsWith('export declare function'))) return comment + mergeFunctions(texts)
  if (texts.every((text) => text.startsWith('export declare class'))) return comment + mergeClasses(texts)
  return comment + mergeValues(isEverywhere ? texts : [...texts, undefined])
}

function splitComment(declaration: string): [comment: string, rest: string] {
  const at = declaration.search(/^export /m)
  return [declaration.slice(0, at), declaration.slice(at)]
}

/** The union of types, some of which may be unions themselves. Several types of callbacks become one, whose parameters TypeScript infers. */
function union(types: readonly string[]): string {
  const items = [...new Set(types.flatMap((type) => split(type, '|')))]
  const callbacks = items.filter((item) => item.startsWith('(('))
  if (callbacks.length < 2) return items.join(' | ')
  const { parameters, result } = mergeSignatures(callbacks.map((text) => signatureOf(text, 2, ' => ', text.length - 1)))
  const merged = `((${parameters}) => ${result})`
  return items.flatMap((item) => (item === callbacks[0] ? merged : callbacks.includes(item) ? [] : item)).join(' | ')
}

/** Constants, variables and types: `export declare const x: T` and `export type x = T`. */
function mergeValues(texts: readonly (string | undefined)[]): string {
  const [, head = ''] = /^([^:=]*[:=] )/.exec(texts[0]!) ?? []
  return head + union(texts.map((text) => text?.slice(head.length) ?? 'undefined'))
}

const FUNCTION = /^(export declare function [\p{ID_Continue}$]+)\(/u

function mergeFunctions(texts: readonly string[]): string {
  const [, head = ''] = FUNCTION.exec(texts[0]!) ?? []
  const { parameters, result } = mergeSignatures(texts.map((text) => signatureOf(text, head.length + 1, ': ')))
  return `${head}(${parameters}): ${result}`
}

interface SignatureText {
  readonly parameters: readonly string[]
  readonly result: string
}

/** The signature whose parameters begin at `start`, and whose result is behind `arrow`. */
function signatureOf(text: string, start: number, arrow: string, end = text.length): SignatureText {
  const close = closing(text, start)
  return { parameters: split(text.slice(start, close), ','), result: text.slice(close + 1 + arrow.length, end) }
}

function mergeSignatures(signatures: readonly SignatureText[]): { parameters: string; result: string } {
  const most = signatures.reduce((a, b) => (b.parameters.length > a.parameters.length ? b : a))
  const parameters = most.parameters.map((parameter, index) => {
    const [name = ''] = parameter.split(': ', 1)
    const types = signatures.flatMap((one) => one.parameters[index]?.replace(/^[^:]*: /, '') ?? [])
    const isOptional = types.length < signatures.length && !/^\.\.\.|\?$/.test(name)
    return `${name}${isOptional ? '?' : ''}: ${union(types)}`
  })
  return { parameters: parameters.join(', '), result: union(signatures.map(({ result }) => result)) }
}

/** The position of the bracket that closes the one before `start`. */
function closing(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === "'") at = endOfText(text, at)
    else if ('([{'.includes(text[at]!)) depth++
    else if (')]}'.includes(text[at]!) && depth-- === 0) return at
  }
  return text.length
}

/** Splits at the separators outside of brackets and texts. */
function split(text: string, separator: ',' | '|'): string[] {
  const items: string[] = []
  let start = 0
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === "'" || sign === '"') at = endOfText(text, at)
    else if ('([{'.includes(sign)) depth++
    else if (')]}'.includes(sign)) depth--
    else if (sign === separator && depth === 0) {
      items.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? items : [...items, last]
}

function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== text[start]) at += text[at] === '\\' ? 2 : 1
  return at
}

const MEMBER =
  /^( {2}(?:get [\p{ID_Continue}$]+\(\): |set [\p{ID_Continue}$]+\(value: |static readonly [\p{ID_Continue}$]+: ))(.*?)(\)?)$/u

/** Classes of structs: each member has the types of all platforms, and may be undefined where one does not have it. */
function mergeClasses(texts: readonly string[]): string {
  const classes = texts.map((text) => text.split('\n'))
  const members = new Map<string, { types: string[]; end: string; count: number }>()
  for (const lines of classes)
    for (const line of lines.slice(1, -1)) {
      const [, head = line, type = '', end = ''] = MEMBER.exec(line) ?? []
      const known = members.get(head) ?? { types: [], end: head.startsWith('  set') ? end : '', count: 0 }
      known.types.push(head.startsWith('  set') ? type : type + end)
      known.count++
      members.set(head, known)
    }
  const merged = [...members].map(([head, { types, end, count }]) => {
    const isMissing = count < texts.length && !head.startsWith('  set')
    return `${head}${union(isMissing ? [...types, 'undefined'] : types)}${end}`
  })
  return [classes[0]![0], ...merged, classes[0]!.at(-1)].join('\n')
}
