import type { KernelSignature } from '@tenon/core'
import { declarationTypes } from '@tenon/packed-func'
import { DeclarationContext, type MemberNaming } from '../registered/declaration-context.ts'
import { declareClass } from '../registered/declare-class.ts'
import { declareFunction, isTyped } from '../registered/declare-function.ts'
import { quote } from '../registered/quote.ts'
import type { Refinements } from '../registered/refinements.ts'
import { NOTHING, type NamedRegistered } from '../registered/registered.ts'
import { declareKernels, docComment, docOf, inComment, kernelTypes, stringTypes } from './declare-kernel.ts'
import { declareOperation, operationOptions } from './declare-operation.ts'
import { localName } from './used-names.ts'

/** A packed function without a complete signature. */
export interface PackedDescription {
  readonly name: string
  readonly metadata: string | undefined
  readonly doc: string | undefined
}

/** What a module exports of a library. */
export interface Exported {
  readonly kernels: readonly KernelSignature[]
  readonly functions: readonly PackedDescription[]
  /** What the library registers when it is loaded, if it was loaded. */
  readonly registered?: NamedRegistered
}

const noneRegistered: NamedRegistered = { ...NOTHING, classNames: new Map(), functionNames: new Map() }

/** How registered types are declared. */
export interface DeclarationOptions {
  readonly naming?: MemberNaming | undefined
  readonly refinements?: Refinements | undefined
}

/** The text of a `.d.ts` file, and the type keys that are `NativeObject` in it, because it has no class for them. */
export interface Declarations {
  readonly text: string
  /** The statements that import types. */
  readonly imports: readonly string[]
  /** The declarations without imports. */
  readonly body: string
  readonly undeclared: readonly string[]
}

const optionTypes = `interface Options<Into> extends Omit<KernelCallOptions, 'into'> {
  readonly into?: Into
}
interface AsyncOptions<Into> extends Omit<KernelAsyncOptions, 'into'> {
  readonly into?: Into
}`

const intoType = `type IntoResults<Results> = { readonly [Name in keyof Results]?: IntoResult<Results[Name]> }
type IntoResult<Result> = Result extends Tensor<infer D>
  ? TensorLike<D>
  : Result extends readonly Tensor<infer D>[]
    ? readonly TensorLike<D>[]
    : Result`

const isOperation = ({ convention }: KernelSignature): boolean => convention === 'tensorflow'

/**
 * The declarations of a library, or of several together. Packed functions without metadata accept and return any value.
 *
 * @param library the name in the first comment
 */
export function declarations(
  library: string,
  { kernels, functions, registered = noneRegistered }: Exported,
  { naming = 'camel', refinements = new Map() }: DeclarationOptions = {},
): Declarations {
  const { classNames, functionNames } = registered
  const classes = new Map([...classNames].map(([key, name]) => [key, localName(name)]))
  const context = new DeclarationContext(registered.types, classes, refinements, naming)
  const parts = [
    ...declareKernels(kernels.filter((kernel) => !isOperation(kernel))),
    ...kernels.filter(isOperation).map(declareOperation),
    ...functions.map((one) => declareFunction({ ...one, place: one.name }, one.name, context)),
    ...registered.types.map((type) => declareClass(type, classes.get(type.key)!, context)),
    ...registered.functions.map((one) => {
      const name = localName(functionNames.get(one.name)!)
      return declareFunction({ ...one, place: one.name }, name, context)
    }),
  ]
  const options = [
    ...(kernels.every(isOperation) ? [] : [optionTypes]),
    ...(kernels.some(isOperation) ? [operationOptions] : []),
  ]
  const used = parts.some((part) => /\bIntoResults</.test(part)) ? [intoType] : []
  const body = [...options, ...used, ...parts].join('\n\n')
  const imports = importsFor(body)
  const lines = [
    `// Written by tenon types: declarations for ${inComment(library)}.`,
    ...imports,
    '',
    body,
    '',
    // Without an export list, declarations export every name.
    'export {}',
    '',
  ]
  return { text: lines.join('\n'), imports, body, undeclared: context.undeclared }
}

function importsFor(text: string): string[] {
  // Strings are removed as well, because that of an enumeration can contain the beginning of a comment.
  const code = text.replaceAll(/"(?:[^"\\]|\\.)*"|\/\*\*.*?\*\//gs, '')
  const mentioned = (names: readonly string[]): string =>
    names.filter((name) => new RegExp(`(?<!\\$)\\b${name}\\b`).test(code)).join(', ')
  const imports = [
    [mentioned([...kernelTypes, 'Tensor'].toSorted()), 'tenon'],
    [mentioned([...stringTypes, 'Canonical', 'DTypeName', 'Device', 'NativeAllocator'].toSorted()), 'tenon/core'],
    [mentioned(declarationTypes), 'tenon/packed-func'],
    [mentioned(['StringTensor']), 'tenon/tstring'],
  ]
  return imports.flatMap(([names, from]) => (names === '' ? [] : [`import type { ${names} } from '${from}'`]))
}

/** The place of a library, as a written module finds it. */
export interface LibraryPlace {
  /** The statement that imports what `path` uses. */
  readonly imports: string
  /** The expression for the path of the file. It is evaluated at the first call. */
  readonly path: string
  /** Whether the path is evaluated at each call, and the library opened again when the path has changed. */
  readonly changes?: boolean
}

/** The place of a library at a path or URL relative to the module. */
export const relativePlace = (place: string): LibraryPlace => ({
  imports: `import { fileURLToPath as $$filePath } from 'node:url'`,
  path: `$$filePath(new URL('${place}', import.meta.url))`,
})

/** A library of a written module. */
export interface WrittenLibrary {
  readonly place: LibraryPlace
  readonly exported: Exported
}

/**
 * A module that opens each library at the first call of one of its functions, so that it can be imported where the libraries do not
 * exist. At most one library has registered types. Names that begin with a dollar sign are those of the module itself.
 *
 * @param declared the declarations of the libraries, for a module in TypeScript; undefined for one in JavaScript
 */
export function wrappers(libraries: readonly WrittenLibrary[], declared?: Declarations): string {
  const all = libraries.map((library, i) => ({ ...library, end: i === 0 ? '' : String(i + 1) }))
  const functions = all.flatMap(({ exported: { functions: own } }) => own)
  const { types, functions: globals } = registeredOf(libraries)
  const packed = [
    ...(all.some(usesModule) ? ['Module'] : []),
    ...(globals.length > 0 ? ['getGlobal'] : []),
    ...(globals.some(({ metadata }) => isTyped(metadata)) ? ['functionMetadata'] : []),
    ...(types.length > 0 ? ['objectClass'] : []),
    ...([...functions, ...globals].some(({ metadata }) => isTyped(metadata)) ? ['typedBy'] : []),
  ]
  const hasKernels = all.some(usesLibrary)
  const imported = packed.map((name) => `${name} as $${name}`).join(', ')
  const any = declared === undefined ? '' : ': any'
  return [
    '// Written by tenon types.',
    ...new Set(all.map(({ place }) => place.imports)),
    ...(hasKernels ? [`import { Library as $Library } from 'tenon'`] : []),
    ...(packed.length > 0 ? [`import { ${imported} } from 'tenon/packed-func'`] : []),
    ...(declared === undefined ? [] : [...declared.imports, '', typesNamespace(declared)]),
    '',
    ...all.flatMap((library) => [
      `const $path${library.end} = () => ${library.place.path}`,
      ...(usesLibrary(library) ? [`const $library${library.end} = ${opened(library, '$Library')}`] : []),
      ...(usesModule(library) ? [`const $module${library.end} = ${opened(library, '$Module')}`] : []),
    ]),
    '',
    ...all.flatMap((library) => exportsOf(library, declared !== undefined)),
    once(any),
    ...(libraries.some(({ place }) => place.changes) ? [from(any)] : []),
    ...(hasKernels || functions.length + globals.length > 0 ? [called(any)] : []),
    ...(types.length > 0 ? [lazyClass(any)] : []),
  ].join('\n')
}

/** The declarations as a namespace, whose names do not conflict with those of the module. It exports everything without a word. */
function typesNamespace({ body }: Declarations): string {
  const inner = body.replaceAll(/^declare |^export \{.*\}\n?/gm, '')
  return `declare namespace $types {\n${inner.trimEnd().replaceAll(/^(?=.)/gm, '  ')}\n}`
}

const registeredOf = (libraries: readonly WrittenLibrary[]): NamedRegistered =>
  libraries.find(({ exported }) => exported.registered !== undefined)?.exported.registered ?? noneRegistered

const usesLibrary = ({ exported }: WrittenLibrary): boolean => exported.kernels.length > 0

const usesModule = ({ exported: { functions, registered = noneRegistered } }: WrittenLibrary): boolean =>
  functions.length + registered.types.length + registered.functions.length > 0

/** A library of a written module, and what distinguishes its names from those of other libraries. */
interface NumberedLibrary extends WrittenLibrary {
  readonly end: string
}

/** The expression for the function that opens a library. */
function opened({ place, end }: NumberedLibrary, name: '$Library' | '$Module'): string {
  const open = `() => ${name}.open($path${end}())`
  return place.changes ? `$from($path${end}, ${open})` : `$once(${open})`
}

/** The statements that export what a library has. @param isTypeScript whether they have the types of the namespace */
function exportsOf(
  { place, exported: { kernels, functions, registered = noneRegistered }, end }: NumberedLibrary,
  isTypeScript: boolean,
): string[] {
  const { types, functions: globals, classNames, functionNames } = registered
  const kept = (owner: string, found: string): string =>
    place.changes ? `$from(${owner}${end}, () => ${found})` : `$once(() => ${found})`
  const commented = (doc: string | undefined, statement: string): string =>
    isTypeScript && doc !== undefined ? `${docComment(doc)}${statement}` : statement
  const typeOf = (name: string): string => (isTypeScript ? `: typeof $types.${name}` : '')
  /** @param isClass whether the name is that of a type as well */
  const exportAs = (name: string, value: string, isClass: boolean): string => {
    const local = localName(name)
    const word = local === name ? 'export ' : ''
    return [
      `${word}const ${local}${typeOf(local)} = ${value}`,
      ...(isTypeScript && isClass ? [`${word}type ${local} = $types.${local}`] : []),
      ...(local === name ? [] : [`export { ${local} as ${name} }`]),
    ].join('\n')
  }
  return [
    ...kernels.map((kernel) => {
      const { name } = kernel
      const found = `$library${end}().kernel('${name}')`
      const value = `$called('${name}', ${kept('$library', found)})`
      return commented(docOf(kernel), `export const ${name}${typeOf(name)} = ${value}`)
    }),
    ...functions.map(({ name, metadata, doc }) => {
      const found = `$module${end}().get('${name}')`
      const call = isTyped(metadata) ? `$typedBy(${found}, $module${end}().metadata('${name}'), '${name}')` : found
      const value = `$called('${name}', ${kept('$module', call)})`
      return commented(doc, `export const ${name}${typeOf(name)} = ${value}`)
    }),
    ...types.map(({ key, doc }) => {
      const name = classNames.get(key)!
      return commented(doc, exportAs(name, `$class(${quote(name)}, ${quote(key)})`, true))
    }),
    ...globals.map(({ name: full, metadata, doc }) => {
      const [name, text] = [functionNames.get(full)!, quote(full)]
      const call = isTyped(metadata)
        ? `$typedBy($getGlobal(${text}), $functionMetadata(${text})${isTypeScript ? '!' : ''}, ${text})`
        : `$getGlobal(${text})`
      return commented(doc, exportAs(name, `$called('${name}', $once(() => ($module(), ${call})))`, false))
    }),
  ]
}

// The functions of written modules. @param any the annotation of a name in TypeScript, and nothing in JavaScript

const once = (any: string): string => `
function $once(make${any})${any} {
  let value${any}
  return () => (value ??= make())
}
`

const from = (
  any: string,
): string => `// What is made of the value of a function, which is made again when the value has changed.
function $from(source${any}, make${any})${any} {
  let at${any}
  let value${any}
  return () => {
    const now = source()
    if (now !== at) {
      value = make()
      at = now
    }
    return value
  }
}
`

const called = (any: string): string => `function $called(name${any}, kernel${any})${any} {
  const call = (...values${any}) => kernel()(...values)
  const async = (...values${any}) => kernel().async(...values)
  return Object.defineProperties(call, { name: { value: name }, async: { value: async } })
}
`

const lazyClass = (any: string): string => `// A class that opens the library when it is first used.
function $class(name${any}, key${any})${any} {
  const reflect${any} = Reflect
  const real = $once(() => ($module(), $objectClass(key)))
  const traps${any} = {
    // The written class extends the real one, so that classes that extend the written one find its methods.
    getPrototypeOf: () => real(),
    construct: (_${any}, values${any}, made${any}) => Reflect.construct(real(), values, made === lazy ? real() : made),
    getOwnPropertyDescriptor(_${any}, property${any}) {
      const found = Reflect.getOwnPropertyDescriptor(real(), property)
      return found && { ...found, configurable: true }
    },
  }
  for (const trap of ['apply', 'defineProperty', 'deleteProperty', 'get', 'has', 'ownKeys', 'set']) {
    traps[trap] = (_${any}, ...rest${any}) => reflect[trap](real(), ...rest)
  }
  // A bound function has no property that a proxy must show.
  const target = Object.defineProperty(function () {}.bind(undefined), 'name', { value: name })
  const lazy${any} = new Proxy(target, traps)
  return lazy
}
`
