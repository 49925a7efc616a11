import { posix } from 'node:path'

import { type Comment, type EcmaScriptModule, parseSync, type Program } from 'oxc-parser'

import { isDocumented } from './is-documented.ts'
import type { SourceFile } from './source-files.ts'

/** A node of the syntax tree, as far as the search for names needs it. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** A declaration at the top level of a file. */
interface Declaration {
  readonly file: ParsedFile
  readonly name: string
}

/** A file, and the parts of its declarations by name. A function with overloads has several. */
interface ParsedFile extends SourceFile {
  readonly module: EcmaScriptModule
  readonly comments: readonly Comment[]
  readonly declared: ReadonlyMap<string, readonly Node[]>
}

/** Where a name comes from: this file, another one, or neither, as for names of the language. */
type Place = Declaration | undefined

/**
 * Returns a sentence for each place at which the reference of the API would be incomplete. The public declarations are those that
 * entries export, and the types that they mention, directly or through each other. A mention is a name in the type of a parameter, a
 * result, a member or a constant. The file of a mentioned type must export and document it, unless it only serves to compute another
 * type. Links in comments must lead to names of their file or of an entry.
 *
 * @param isEntry whether the exports of a file are public
 */
export function findIncompleteReferences(files: readonly SourceFile[], isEntry: (path: string) => boolean): string[] {
  const sources = new Sources(files)
  const queue = files.filter(({ path }) => isEntry(path)).flatMap(({ path }) => sources.exportsOf(path))
  const publicNames = new Set(queue.map(({ name }) => name))
  const seen = new Set(queue.map(keyOf))
  const problems: string[] = []
  for (const declaration of queue) {
    const { name, file } = declaration
    for (const target of sources.unknownLinks(declaration))
      if (!publicNames.has(target))
        problems.push(`${file.path} must link to a public name, got ${target} in the comment of ${name}`)
    for (const mentioned of sources.mentionedBy(declaration)) {
      if (seen.has(keyOf(mentioned))) continue
      seen.add(keyOf(mentioned))
      queue.push(mentioned)
      const missing = isHelper(mentioned, declaration) ? undefined : missingOf(mentioned)
      if (missing !== undefined)
        problems.push(
          `${mentioned.file.path} must ${missing} ${mentioned.name}, which ${name} mentions in ${file.path}`,
        )
    }
  }
  return problems
}

const keyOf = ({ file, name }: Declaration): string => `${file.path} ${name}`

/** Whether a name only serves to compute a type, which the reference shows as it is written. */
const isHelper = (mentioned: Declaration, by: Declaration): boolean =>
  !isExported(mentioned) &&
  isOf(by, ['TSTypeAliasDeclaration']) &&
  !isOf(mentioned, ['TSInterfaceDeclaration', 'ClassDeclaration'])

const isOf = ({ file, name }: Declaration, types: readonly string[]): boolean =>
  file.declared.get(name)!.some(({ type }) => types.includes(type))

const isExported = ({ file, name }: Declaration): boolean =>
  file.module.staticExports.some(({ entries }) => entries.some(({ localName }) => localName.name === name))

function missingOf(mentioned: Declaration): string | undefined {
  if (!isExported(mentioned)) return 'export'
  return isDocumented(mentioned.file.text, mentioned.name) ? undefined : 'document'
}

/** The files of the repository, each of which is parsed when it is first needed. */
class Sources {
  readonly #texts: ReadonlyMap<string, string>
  readonly #parsed = new Map<string, ParsedFile>()

  constructor(files: readonly SourceFile[]) {
    this.#texts = new Map(files.map(({ path, text }) => [path, text]))
  }

  /** The declarations that a file exports, its own and those of other files. */
  exportsOf(path: string): Declaration[] {
    const { module } = this.#file(path)!
    const names = module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ exportName }) => exportName.name ?? []),
    )
    return names.flatMap((name) => this.#exported(path, name) ?? [])
  }

  /** The declarations whose names are in the types of a declaration. */
  mentionedBy({ file, name }: Declaration): Declaration[] {
    const names = new Set(file.declared.get(name)!.flatMap((node) => typeNames(node, file.comments)))
    return [...names].flatMap((mentioned) => this.#find(file, mentioned) ?? [])
  }

  /** The targets of the links in the comments of a declaration that its file neither has nor imports. */
  unknownLinks({ file, name }: Declaration): string[] {
    const comments = file.declared.get(name)!.flatMap((node) => commentsOf(node, file.comments))
    const targets = comments.flatMap(({ value }) => [...value.matchAll(/\{@link (\w+)/g)].map(([, target]) => target!))
    const isMember = (target: string): boolean => new RegExp(`^ +.*\\b${target}\\??[(:<]`, 'm').test(file.text)
    return targets.filter((target) => this.#find(file, target) === undefined && !isMember(target))
  }

  #file(path: string): ParsedFile | undefined {
    const known = this.#parsed.get(path)
    if (known !== undefined) return known
    const text = this.#texts.get(path)
    if (text === undefined) return undefined
    const { program, module, comments } = parseSync(path, text)
    const file = { path, text, module, comments, declared: declarationsOf(program) }
    this.#parsed.set(path, file)
    return file
  }

  /** Finds what a name means in a file. */
  #find(file: ParsedFile, name: string): Place {
    if (file.declared.has(name)) return { file, name }
    for (const { moduleRequest, entries } of file.module.staticImports) {
      const entry = entries.find(({ localName }) => localName.value === name)
      if (entry?.importName.name) return this.#exported(fileOf(file.path, moduleRequest.value), entry.importName.name)
    }
    return undefined
  }

  /** Finds what a file exports under a name. */
  #exported(path: string, name: string): Place {
    const file = this.#file(path)
    const entry = file?.module.staticExports
      .flatMap(({ entries }) => entries)
      .find(({ exportName }) => exportName.name === name)
    if (file === undefined || entry === undefined) return undefined
    const { moduleRequest, importName, localName } = entry
    if (moduleRequest === null) return localName.name === null ? undefined : this.#find(file, localName.name)
    return importName.name === null ? undefined : this.#exported(fileOf(path, moduleRequest.value), importName.name)
  }
}

/** The source of a module: that of a relative path, or of an entry of another package. */
function fileOf(from: string, request: string): string {
  if (request.startsWith('.')) return posix.join(posix.dirname(from), request)
  const [, folder, entry = 'index'] = /^(?:@tenon\/)?([\w-]+)(?:\/([\w-]+))?$/.exec(request) ?? []
  return `packages/${folder}/src/${entry}.ts`
}

function declarationsOf({ body }: Program): Map<string, Node[]> {
  const declared = new Map<string, Node[]>()
  for (const statement of body as unknown as readonly Node[]) {
    const declaration = ((statement['declaration'] as Node | null | undefined) ?? statement) as Node
    const parts =
      declaration.type === 'VariableDeclaration' ? (declaration['declarations'] as readonly Node[]) : [declaration]
    for (const part of parts) {
      const name = (part['id'] as { readonly name?: string } | null | undefined)?.name
      if (name !== undefined) declared.set(name, [...(declared.get(name) ?? []), part])
    }
  }
  // Users see the overloads of a function, and not its implementation.
  for (const [name, parts] of declared) {
    const overloads = parts.filter(({ type }) => type === 'TSDeclareFunction')
    if (overloads.length > 0) declared.set(name, overloads)
  }
  return declared
}

/** The names in the types of a declaration that users see, without those of its type parameters. */
function typeNames(declaration: Node, comments: readonly Comment[]): string[] {
  const names: string[] = []
  const own = new Set<string>()
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return withoutImplementations(value as readonly Node[]).forEach(visit)
    if (typeof value !== 'object' || value === null || isHidden(value as Node, comments)) return
    const node = value as Node
    const parameter = typeParameterOf(node)
    if (parameter !== undefined) own.add(parameter)
    const reference = node[referenceMembers[node.type] ?? '']
    if (reference !== undefined) names.push(leftmost(reference as Node))
    for (const [member, part] of Object.entries(node)) if (!isCode(node, member)) visit(part)
  }
  visit(declaration)
  return names.filter((name) => !own.has(name))
}

/** The member with the name of a type, of the nodes that mention one. */
const referenceMembers: Readonly<Record<string, string>> = {
  TSTypeReference: 'typeName',
  TSTypeQuery: 'exprName',
  TSClassImplements: 'expression',
}

const nameOf = (identifier: unknown): string => (identifier as { readonly name: string }).name

/** The first name of `a.b.c`. */
const leftmost = (name: Node): string =>
  name.type === 'Identifier' ? nameOf(name) : leftmost((name['left'] ?? name['object']) as Node)

function typeParameterOf({ type, name, key }: Node): string | undefined {
  if (type === 'TSTypeParameter') return nameOf(name)
  return type === 'TSMappedType' ? nameOf(key) : undefined
}

/** Whether a member is left out of the declarations: it is private or internal. */
function isHidden(node: Node, comments: readonly Comment[]): boolean {
  if (node['accessibility'] === 'private' || (node['key'] as Node | undefined)?.type === 'PrivateIdentifier')
    return true
  if (!/^(?:PropertyDefinition|MethodDefinition|TS.*Signature)$/.test(node.type)) return false
  const before = comments.findLast(({ end }) => end <= node.start)
  return before !== undefined && before.value.includes('@internal')
}

/** Whether an element of a syntax tree is a statement or an expression, whose types users do not see. */
function isCode({ type }: Node, member: string): boolean {
  if (member === 'body') return type !== 'ClassDeclaration' && type !== 'ClassBody' && !type.startsWith('TSInterface')
  if (member === 'value') return type === 'PropertyDefinition'
  return member === 'init' || member === 'right' || member === 'decorators'
}

/** Leaves out the method with a body, where a class has overloads of it. */
function withoutImplementations(nodes: readonly Node[]): readonly Node[] {
  const isOverload = (node: Node): boolean =>
    node?.type === 'MethodDefinition' && (node['value'] as Node).type === 'TSEmptyBodyFunctionExpression'
  const overloaded = new Set(nodes.filter(isOverload).map(({ key }) => nameOf(key)))
  if (overloaded.size === 0) return nodes
  return nodes.filter(
    (node) => isOverload(node) || node.type !== 'MethodDefinition' || !overloaded.has(nameOf(node['key'])),
  )
}

/** The comments in a declaration, and the one before it. */
function commentsOf(node: Node, comments: readonly Comment[]): Comment[] {
  const before = comments.findLast(({ end }) => end <= node.start)
  const inside = comments.filter(({ start, end }) => start >= node.start && end <= node.end)
  return before === undefined ? inside : [before, ...inside]
}
