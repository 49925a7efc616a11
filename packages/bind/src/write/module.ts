import { ToolError } from '@tenon/build'
import { memoryAlignments } from '../model/memory-alignments.ts'
import type { BoundConstant, BoundEnum, BoundRecord, BoundVariable, Model } from '../model/model.ts'
import type { Place } from '../read/c-types.ts'
import { Comments } from '../read/comments.ts'
import { identifier, quoted } from './identifiers.ts'
import { literalOf } from './literals.ts'
import { mergeParts } from './merge-parts.ts'
import type { ModulePart } from './module-part.ts'
import { writeRecord } from './records.ts'
import { handleDeclaration } from './call-types.ts'
import { statusText } from './call-signature.ts'
import { writeFunction } from './functions.ts'
import { pointerTo, resultType, typeOfScalar } from './types.ts'

/** The files of a module. */
export interface ModuleFiles {
  /** The text of `index.js`. */
  readonly code: string
  /** The text of `index.d.ts`. */
  readonly declarations: string
  /** The libraries of the models' shims. */
  readonly shims: readonly { readonly name: string; readonly bytes: Uint8Array }[]
}

/** A library whose path the module computes when it first needs it. Names of its imports begin with `$$`. */
export interface LibraryExpression {
  /** The statement that imports what `path` uses. */
  readonly imports: string
  /** The expression for the path. */
  readonly path: string
}

/** How a module finds its libraries and its run time. */
export interface ModuleOptions {
  /**
   * The libraries that the module opens, by the names that the system's loader searches, by paths beside the module, which begin with a dot, or
   * by expressions. An object has a list for each platform.
   */
  readonly libraries:
    | readonly (string | LibraryExpression)[]
    | Readonly<Record<string, readonly (string | LibraryExpression)[]>>
  /** The prefix of imports: `tenon` for the umbrella package, `@tenon` for its parts. */
  readonly from?: 'tenon' | '@tenon'
}

/**
 * Writes the module of a model, or of the models of several platforms for the same headers. Equal models give equal bytes: the declarations
 * are in the order of the headers, and nothing of this machine is in the text but the platform.
 *
 * @throws {ToolError} if two models are for one platform, or have different statuses of success
 */
export function writeModule(
  models: Model | readonly [Model, ...Model[]],
  { libraries, from = '@tenon' }: ModuleOptions,
): ModuleFiles {
  const all: readonly Model[] = 'functions' in models ? [models] : models
  const [model] = all as [Model]
  const comments = new Comments()
  const platforms = all.map((one) => ({ target: one.target, parts: partsOf(one, comments) }))
  if (new Set(platforms.map(({ target }) => target)).size < all.length)
    throw new ToolError('the models of a module must be for different platforms')
  if (new Set(all.map(({ status }) => JSON.stringify(status))).size > 1)
    throw new ToolError('the statuses of success must be equal on all platforms')
  const parts = all.length === 1 ? [...platforms[0]!.parts.values()] : mergeParts(platforms)
  const targets = platforms.map(({ target }) => target).join(', ')
  const headers = model.headers.map((header) => header.replaceAll(/[\n\r\u2028\u2029]/g, ' '))
  const title = `Written by tenon bind from ${headers.join(', ')} for ${targets}. Do not edit: run the command again.`
  const code = parts.map((part) => part.code).join('\n')
  const declarations = parts.map(({ declaration }) => declaration).join('\n')
  const shims = all.flatMap(({ target, shim }) => (shim ? [{ name: shimName(target), bytes: shim.bytes }] : []))
  const { options, imports } = optionsOf(all, libraries)
  return {
    code: `// ${title}\n${[...imports, importsOf(code, from)].join('\n')}\n\nexport const library = NativeModule.of(${options})\n\n${code}\n`,
    declarations: `// ${title}\n${typesOf(declarations, from)}\n/** The libraries of this module, which are opened when it first needs them. */\nexport declare const library: NativeModule\n\n${declarations}\n`,
    shims,
  }
}

/** The declarations of a model by their names. */
function partsOf(model: Model, comments: Comments): Map<string, ModulePart> {
  const records = new Map(model.records.map((record) => [record.id, record]))
  const parts = new Map<string, ModulePart>()
  const add = (name: string, place: Place, write: () => ModulePart | undefined): void => {
    const part = parts.has(name) ? undefined : write()
    if (part) parts.set(name, withComment(comments.of(place), part))
  }
  for (const constant of model.constants) add(constant.name, constant.place, () => writeConstant(constant))
  for (const enumeration of model.enums) add(enumeration.id, enumeration.place, () => writeEnum(enumeration))
  const moduleNames = new Map(model.functions.map(({ name, declared = name }) => [declared, identifier(name)]))
  const nameFunction = (name: string): string => moduleNames.get(name) ?? identifier(name)
  const alignments = memoryAlignments(model.records)
  for (const record of model.records)
    add(record.id, record.place, () => writeRecord(record, records, nameFunction, alignments.get(record.id)!))
  for (const variable of model.variables) add(variable.name, variable.place, () => writeVariable(variable, records))
  for (const { className, type } of model.handles ?? []) parts.set(className, writeHandle(className, type))
  if (model.status !== undefined)
    parts.set('$$status', { code: `const $$status = ${statusText(model.status, nameFunction)}`, declaration: '' })
  for (const one of model.functions) add(one.name, one.place, () => writeFunction(one, records, nameFunction))
  return parts
}

/** The options of `NativeModule.of()`, which are the platforms and how each finds its libraries, and the imports that they use. */
function optionsOf(
  models: readonly Model[],
  libraries: ModuleOptions['libraries'],
): { readonly options: string; readonly imports: ReadonlySet<string> } {
  const imports = new Set<string>()
  const place = (library: string | LibraryExpression): string => {
    if (typeof library === 'string' && !library.startsWith('.')) return JSON.stringify(library)
    const expression = typeof library === 'string' ? besideModule(library) : library
    imports.add(expression.imports)
    return `() => ${expression.path}`
  }
  const own = models.map(({ target, shim }) => {
    const places = isList(libraries) ? libraries : (libraries[target] ?? [])
    const shimOption = shim ? `, shim: { path: ${place(`./${shimName(target)}`)}, hash: '${shim.hash}' }` : ''
    return { target, text: `libraries: [${places.map(place).join(', ')}]${shimOption}` }
  })
  if (own.length === 1) return { options: `{ platform: '${own[0]!.target}', ${own[0]!.text} }`, imports }
  const lines = own.map(({ target, text }) => `    '${target}': { ${text} },`)
  return { options: `{\n  platforms: {\n${lines.join('\n')}\n  }\n}`, imports }
}

/** A file by its path relative to the module, in the form that bundlers find. Characters such as # and % mean something else in a URL. */
function besideModule(path: string): LibraryExpression {
  const url = path.split('/').map(encodeURIComponent).join('/')
  return {
    imports: `import { fileURLToPath as $$filePath } from 'node:url'`,
    path: `$$filePath(new URL(${JSON.stringify(url)}, import.meta.url))`,
  }
}

const isList = (libraries: ModuleOptions['libraries']): libraries is readonly (string | LibraryExpression)[] =>
  Array.isArray(libraries)

/** The file of a shim, such as `shim-linux-x64.so`. */
function shimName(target: string): string {
  const extension = target.startsWith('win32') ? 'dll' : target.startsWith('darwin') ? 'dylib' : 'so'
  return `shim-${target}.${extension}`
}

const RUNTIME = ['Handle', 'Struct', 'members']

function importsOf(code: string, from: string): string {
  const used = ['NativeModule', ...RUNTIME.filter((name) => new RegExp(`\\b${name}\\b`).test(code))]
  return `import { ${used.join(', ')} } from '${from}/scope/bind'`
}

function typesOf(declarations: string, from: string): string {
  const used = (names: readonly string[]): string[] =>
    names.filter((name) => new RegExp(`\\b${name}\\b`).test(declarations))
  const scope = used(['AllocatorLike', 'MemorySegment', 'StructLayout', 'UnionLayout'])
  const classes = used(['Handle', 'Struct'])
  const types = ['NativeModule', ...used(['Pointer'])]
  return [
    ...(scope.length === 0 ? [] : [`import type { ${scope.join(', ')} } from '${from}/scope'`]),
    classes.length === 0
      ? `import type { ${types.join(', ')} } from '${from}/scope/bind'`
      : `import { ${[...classes, ...types.map((name) => `type ${name}`)].join(', ')} } from '${from}/scope/bind'`,
    '',
  ].join('\n')
}

function withComment(text: string, { code, declaration }: ModulePart): ModulePart {
  if (text === '') return { code, declaration }
  const lines = text.split('\n')
  const comment =
    lines.length === 1 ? `/** ${lines[0]} */` : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */`
  return { code, declaration: `${comment}\n${declaration}` }
}

function writeConstant({ name, constant }: BoundConstant): ModulePart {
  const { value, type } = literalOf(constant)
  return {
    code: `export const ${identifier(name)} = ${value}`,
    declaration: `export declare const ${identifier(name)}: ${type}`,
  }
}

function writeEnum({ id, as, names }: BoundEnum): ModulePart {
  const values = names.map((name) => `typeof ${identifier(name)}`)
  return {
    code: '',
    declaration: `export type ${identifier(id)} = ${[...values, `(${typeOfScalar(as)} & {})`].join(' | ')}`,
  }
}

function writeVariable(
  { name, symbol = name, type, isConst, byteSize }: BoundVariable,
  records: ReadonlyMap<string, BoundRecord>,
): ModulePart | undefined {
  const declared = identifier(name)
  if (type.kind === 'scalar' || type.kind === 'enum') {
    const typeName = resultType(type)
    return {
      code: `export const ${declared} = library.variable(${quoted(symbol)}, '${type.as}'${isConst ? ', { isConst: true }' : ''})`,
      declaration: `export declare const ${declared}: { ${isConst ? 'readonly ' : ''}value: ${typeName} }`,
    }
  }
  if (type.kind === 'record' && records.get(type.id)?.layout)
    return {
      code: `export const ${declared} = library.memory(${quoted(symbol)}, ${byteSize}, (segment) => ${identifier(type.id)}.at(segment))`,
      declaration: `export declare const ${declared}: { readonly value: ${identifier(type.id)} }`,
    }
  if (type.kind === 'pointer')
    return {
      code: `export const ${declared} = library.variable(${quoted(symbol)}, 'pointer'${isConst ? ', { isConst: true }' : ''})`,
      declaration: `export declare const ${declared}: { ${isConst ? 'readonly ' : ''}value: ${pointerTo(type.to)} }`,
    }
  return {
    code: `export const ${declared} = library.memory(${quoted(symbol)}, ${byteSize})`,
    declaration: `export declare const ${declared}: { readonly value: ${type.kind === 'array' ? pointerTo(type.of) : 'MemorySegment'} }`,
  }
}

/** A class of handles. The calls that make them say how they end. */
const writeHandle = (className: string, type: string): ModulePart => ({
  code: `export class ${identifier(className)} extends Handle {}`,
  declaration: handleDeclaration(className, type),
})
