import type {
  BoundConstant,
  BoundEnum,
  BoundFunction,
  BoundRecord,
  BoundVariable,
  Constant,
  Model,
} from '../model/model.ts'
import type { Place } from '../read/c-types.ts'
import { Comments } from '../read/comments.ts'
import { identifier } from './identifiers.ts'
import type { ModulePart } from './module-part.ts'
import { writeRecord } from './records.ts'
import { parameterName, parameterType, pointerTo, resultType, signature, typeOfScalar } from './types.ts'

/** The files of a module. */
export interface ModuleFiles {
  /** The text of `index.js`. */
  readonly code: string
  /** The text of `index.d.ts`. */
  readonly declarations: string
  /** The library of the model's shim. */
  readonly shim?: { readonly name: string; readonly bytes: Uint8Array }
}

/** How a module finds its libraries and its run time. */
export interface ModuleOptions {
  /** The libraries that the module opens, by the names that the system's loader searches or by paths beside the module. */
  readonly libraries: readonly string[]
  /** The prefix of imports: `tenon` for the umbrella package, `@tenon` for its parts. */
  readonly from?: 'tenon' | '@tenon'
}

/**
 * Writes the module of a model. Equal models give equal bytes: the declarations are in the order of the headers, and nothing of this machine
 * is in the text but the platform.
 */
export function writeModule(model: Model, { libraries, from = '@tenon' }: ModuleOptions): ModuleFiles {
  const comments = new Comments()
  const records = new Map(model.records.map((record) => [record.id, record]))
  const parts: ModulePart[] = []
  const add = (place: Place, part: ModulePart | undefined): void => {
    if (part) parts.push(withComment(comments.of(place), part))
  }
  const names = new Set<string>()
  const isNew = (name: string): boolean => !names.has(name) && names.add(name) !== undefined
  for (const constant of model.constants) if (isNew(constant.name)) add(constant.place, writeConstant(constant))
  for (const enumeration of model.enums) if (isNew(enumeration.id)) add(enumeration.place, writeEnum(enumeration))
  for (const record of model.records) if (isNew(record.id)) add(record.place, writeRecord(record, records))
  for (const variable of model.variables)
    if (isNew(variable.name)) add(variable.place, writeVariable(variable, records))
  for (const one of model.functions) if (isNew(one.name)) add(one.place, writeFunction(one, records))
  const title = `Written by tenon bind from ${model.headers.join(', ')} for ${model.target}. Do not edit: run the command again.`
  const code = parts.map((part) => part.code).join('\n')
  const declarations = parts.map(({ declaration }) => declaration).join('\n')
  const shim = model.shim && { name: shimName(model.target), bytes: model.shim.bytes }
  const base = shim || libraries.some((library) => library.startsWith('.')) ? ', base: import.meta.url' : ''
  const shimOption = shim ? `, shim: { path: './${shim.name}', hash: '${model.shim!.hash}' }` : ''
  const options = `platform: '${model.target}', libraries: ${JSON.stringify(libraries)}${shimOption}${base}`
  return {
    code: `// ${title}\n${importsOf(code, from)}\n\nexport const library = NativeModule.of({ ${options} })\n\n${code}\n`,
    declarations: `// ${title}\n${typesOf(declarations, from)}\n/** The libraries of this module, which are opened when it first needs them. */\nexport declare const library: NativeModule\n\n${declarations}\n`,
    ...(shim && { shim }),
  }
}

/** The file of a shim, such as `shim-linux-x64.so`. */
function shimName(target: string): string {
  const extension = target.startsWith('win32') ? 'dll' : target.startsWith('darwin') ? 'dylib' : 'so'
  return `shim-${target}.${extension}`
}

const RUNTIME = ['Struct', 'members']

function importsOf(code: string, from: string): string {
  const used = ['NativeModule', ...RUNTIME.filter((name) => new RegExp(`\\b${name}\\b`).test(code))]
  return `import { ${used.join(', ')} } from '${from}/scope/bind'`
}

function typesOf(declarations: string, from: string): string {
  const used = (names: readonly string[]): string[] =>
    names.filter((name) => new RegExp(`\\b${name}\\b`).test(declarations))
  const scope = used(['AllocatorLike', 'MemorySegment', 'StructLayout'])
  const bind = ['NativeModule', ...used(['Pointer', 'Struct'])]
  return [
    ...(scope.length === 0 ? [] : [`import type { ${scope.join(', ')} } from '${from}/scope'`]),
    bind.includes('Struct')
      ? `import { ${bind.map((name) => (name === 'Struct' ? name : `type ${name}`)).join(', ')} } from '${from}/scope/bind'`
      : `import type { ${bind.join(', ')} } from '${from}/scope/bind'`,
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

const MAXIMUM_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

function literalOf(constant: Constant): { readonly value: string; readonly type: string } {
  switch (constant.kind) {
    case 'integer': {
      const isSafe = constant.value <= MAXIMUM_SAFE && constant.value >= -MAXIMUM_SAFE
      const value = `${constant.value}${isSafe ? '' : 'n'}`
      return { value, type: value }
    }
    case 'real':
      return { value: Object.is(constant.value, -0) ? '-0' : String(constant.value), type: 'number' }
    case 'text':
      return { value: JSON.stringify(constant.value), type: JSON.stringify(constant.value) }
    case 'bytes':
      return { value: `Uint8Array.of(${constant.value.join(', ')})`, type: 'Uint8Array' }
    case 'pointer':
      return { value: `NativeModule.pointer(${constant.value}n)`, type: 'MemorySegment' }
  }
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
  { name, type, isConst, byteSize }: BoundVariable,
  records: ReadonlyMap<string, BoundRecord>,
): ModulePart | undefined {
  const declared = identifier(name)
  if (type.kind === 'scalar' || type.kind === 'enum') {
    const typeName = resultType(type)
    return {
      code: `export const ${declared} = library.variable('${name}', '${type.as}'${isConst ? ', { isConst: true }' : ''})`,
      declaration: `export declare const ${declared}: { ${isConst ? 'readonly ' : ''}value: ${typeName} }`,
    }
  }
  if (type.kind === 'record' && records.get(type.id)?.layout)
    return {
      code: `export const ${declared} = library.memory('${name}', ${byteSize}, (segment) => ${identifier(type.id)}.at(segment))`,
      declaration: `export declare const ${declared}: { readonly value: ${identifier(type.id)} }`,
    }
  if (type.kind === 'pointer')
    return {
      code: `export const ${declared} = library.variable('${name}', 'pointer'${isConst ? ', { isConst: true }' : ''})`,
      declaration: `export declare const ${declared}: { ${isConst ? 'readonly ' : ''}value: ${pointerTo(type.to)} }`,
    }
  return {
    code: `export const ${declared} = library.memory('${name}', ${byteSize})`,
    declaration: `export declare const ${declared}: { readonly value: ${type.kind === 'array' ? pointerTo(type.of) : 'MemorySegment'} }`,
  }
}

function writeFunction(
  { name, symbol = name, type }: BoundFunction,
  records: ReadonlyMap<string, BoundRecord>,
): ModulePart {
  const declared = identifier(name)
  const parameters = uniqueNames(type.parameters.map((parameter, index) => parameterName(parameter.name, index)))
  const isStruct = type.result.kind === 'record'
  const list = [...(isStruct ? ['allocator'] : []), ...parameters, ...(type.isVariadic ? ['...rest'] : [])].join(', ')
  const types = [
    ...(isStruct ? ['allocator: AllocatorLike'] : []),
    ...type.parameters.map((parameter, index) => `${parameters[index]}: ${parameterType(parameter.type, records)}`),
    ...(type.isVariadic ? ['...rest: readonly unknown[]'] : []),
  ].join(', ')
  const call = `($${name} ??= library.link('${symbol}', ${signature(type, records)}))(${list})`
  const value = isStruct && type.result.kind === 'record' ? `${identifier(type.result.id)}.at(${call})` : call
  return {
    code: `let $${name}\nexport function ${declared}(${list}) {\n  return ${value}\n}`,
    declaration: `export declare function ${declared}(${types}): ${resultType(type.result)}`,
  }
}

/** Two parameters may have one name in C where only their types are declared. */
function uniqueNames(names: readonly string[]): string[] {
  const seen = new Set<string>()
  return names.map((name) => {
    let unique = name
    while (seen.has(unique)) unique += '_'
    seen.add(unique)
    return unique
  })
}
