import { basename } from 'node:path'

import { findPlatform, hostPlatform, type PlatformName, ToolError } from '@tenon/build'
import { findToolchain, matches } from '@tenon/build/internal'

import { HeadersProblem } from '../bind-error.ts'
import { ShimBuild, type ShimLibrary } from '../probe/build-shim.ts'
import { askLayouts, type Layouts } from '../probe/layouts.ts'
import { evaluateMacros, type MacroValue } from '../probe/macros.ts'
import type { FunctionDeclaration, MacroDefinition, Place } from '../read/c-types.ts'
import { type Declarations, readDeclarations } from '../read/declarations.ts'
import { DECLARATIONS, HeaderCompiler } from '../read/preprocess.ts'
import { findSystemFiles } from '../read/system-files.ts'
import { tokenize } from '../read/tokens.ts'
import { reasonNotCallable } from './callable.ts'
import { chooseNames } from './choose-names.ts'
import { declaredMacro, declareMacros } from './declare-macros.ts'
import type { BoundConstant, BoundFunction, BoundVariable, Model, Refusal, RefusalReason } from './model.ts'
import { hashOfModel } from './hash-of-model.ts'
import { bindMacroFunction, bindMacroValue, bindWrapper, type ShimBinding } from './shim-plan.ts'
import { TypeBuilder } from './type-builder.ts'

/** The names that one shared library exports. */
export interface LibraryExports {
  /** The name by which it is loaded, such as `libsqlite3.so.0`. */
  readonly name: string
  /** The names, also with their versions, such as `memcpy@GLIBC_2.2.5`. Undefined if they are not known, as those of a library that is not on this machine. */
  readonly symbols: ReadonlySet<string> | undefined
}

/** How long a run of the compiler may take by default, in milliseconds. */
const TIMEOUT = 20_000

/** The options of {@link readModel}. */
export interface ReadOptions {
  /** The platform to read the headers for, such as `win32-x64`. Others than this one need zig. By default this one. */
  readonly target?: PlatformName
  /** How long each run of the compiler may take, in milliseconds. By default 20,000. */
  readonly timeout?: number
  /** Flags for the preprocessor: `-I`, `-isystem`, `-D`, `-U`, `-include`, `-std`. */
  readonly flags?: readonly string[]
  /** The libraries whose functions are bound. Without any, all functions are, and are looked up when the module runs. */
  readonly libraries?: readonly LibraryExports[]
  /**
   * Patterns of names to bind; a final `*` matches any rest. Without any, all names are bound. A macro whose value depends on the compiler must
   * be named exactly.
   */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  /** Patterns of paths of headers whose declarations are bound although they belong to the system. */
  readonly headerFiles?: readonly string[]
  /** Compiles a library with what no library exports: inline functions, macros, and functions whose types no call can pass. */
  readonly shim?: { readonly libraries: readonly ShimLibrary[] }
  /** The versions of symbols that are called on Linux, such as `{ memcpy: 'GLIBC_2.2.5' }`. */
  readonly versions?: Readonly<Record<string, string>>
  /** The types of macros with parameters, such as `(const void *) -> uint32_t`, which are then functions of the shim. */
  readonly macros?: Readonly<Record<string, string>>
}

/**
 * Reads headers with the C compiler of this machine (`CC`, or the usual names), or for another platform with zig.
 *
 * @param headers paths, or names in angle brackets that the compiler searches. They are included in this order in one unit.
 * @throws {CompilerError} if the compiler refuses the headers. @throws {HeadersProblem} if a declaration of the headers cannot be read.
 */
export async function readModel(headers: readonly string[], options: ReadOptions = {}): Promise<Model> {
  const platform = options.target === undefined ? hostPlatform : findPlatform(options.target)
  const toolchain = { variant: 'release', platform, portable: false, directory: process.cwd() } as const
  const { compilers } = await findToolchain(['c'], toolchain)
  const compiler = await HeaderCompiler.open(headers, {
    compiler: compilers.get('c')!,
    platform,
    flags: options.flags ?? [],
    declarations: declareMacros(options.macros ?? {}),
    timeout: options.timeout ?? TIMEOUT,
  })
  try {
    return await new HeaderModel(compiler, headers, options).read()
  } finally {
    await compiler.close()
  }
}

class HeaderModel {
  readonly #compiler: HeaderCompiler
  readonly #headers: readonly string[]
  readonly #options: ReadOptions
  readonly #refused: Refusal[] = []
  /** The functions whose code is in a shim. */
  readonly #shim: ShimBinding[] = []
  #isSystemFile: (path: string) => boolean = () => false
  #headerFiles: ReadonlySet<string> = new Set()

  constructor(compiler: HeaderCompiler, headers: readonly string[], options: ReadOptions) {
    this.#compiler = compiler
    this.#headers = headers
    this.#options = options
  }

  async read(): Promise<Model> {
    const compiler = this.#compiler
    const [text, isSystemFile] = await Promise.all([
      compiler.preprocess(compiler.includes, ['-dD']),
      findSystemFiles(compiler),
      compiler.check(),
    ])
    const { tokens, macros, headerFiles } = tokenize(text)
    this.#isSystemFile = isSystemFile
    this.#headerFiles = headerFiles
    const declarations = readDeclarations(tokens)
    const problem = declarations.problems.find(({ place }) => this.#isOwned(place))
    if (problem) throw new HeadersProblem(problem.place, problem.message)

    const [values, layouts] = await Promise.all([
      evaluateMacros(compiler, this.#constantMacros(macros), macros, new Set(this.#options.include)),
      askLayouts(compiler, declarations, macros),
    ])
    const types = new TypeBuilder(layouts, chooseNames(declarations, this.#takenNames(declarations, values)), (place) =>
      this.#isOwned(place),
    )
    const functions = [...this.#functions(declarations, types), ...this.#macroFunctions(declarations, macros, types)]
    const variables = this.#variables(declarations, layouts, types)
    this.#reachOwnedTypes(declarations, types)
    const constants = [
      ...this.#enumerators(declarations, layouts, types),
      ...this.#constants(macros, values, functions),
    ]
    return this.#withShim({
      tenon: 1,
      target: this.#options.target ?? `${process.platform}-${process.arch}`,
      headers: this.#headers.map((header) => basename(header.replaceAll(/[<>]/g, ''))),
      functions,
      records: types.records,
      enums: types.enums,
      constants,
      variables,
      refused: this.#refused,
    })
  }

  /** The model with the library of its shim, without the functions that it cannot have. */
  async #withShim(model: Model): Promise<Model> {
    if (this.#shim.length === 0) return model
    const build = new ShimBuild(this.#compiler, this.#options.shim!.libraries)
    await build.compile(this.#shim)
    for (const { symbol, bound } of this.#shim) {
      const reason = build.refused.get(symbol)
      if (reason !== undefined) this.#refuse(bound.name, bound.place, 'not in the shim', reason)
    }
    const functions = model.functions.filter(({ symbol = '' }) => !build.refused.has(symbol))
    const kept = { ...model, functions }
    const hash = hashOfModel(kept)
    const bytes = await build.link(hash)
    return bytes === undefined ? kept : { ...kept, shim: { hash, bytes } }
  }

  /** Whether a declaration belongs to the headers that are bound, and not to the system or the compiler. */
  #isOwned({ file }: Place): boolean {
    if (this.#headerFiles.has(file) || this.#options.headerFiles?.some((pattern) => matches(pattern, file))) return true
    return !this.#isSystemFile(file)
  }

  #isSelected(name: string, place: Place): boolean {
    const { include, exclude } = this.#options
    if (place.file === DECLARATIONS || !this.#isOwned(place) || exclude?.some((pattern) => matches(pattern, name)))
      return false
    return include === undefined || include.length === 0 || include.some((pattern) => matches(pattern, name))
  }

  #refuse(name: string, place: Place, reason: RefusalReason, detail = ''): void {
    this.#refused.push({ name, reason, detail, place })
  }

  #constantMacros(macros: ReadonlyMap<string, MacroDefinition>): MacroDefinition[] {
    return [...macros.values()].filter(({ name, parameters, body, place }) => {
      if (!this.#isSelected(name, place)) return false
      if (parameters !== undefined && this.#options.macros?.[name] === undefined)
        this.#refuse(name, place, 'function-like macro', 'annotate its types')
      return parameters === undefined && body !== ''
    })
  }

  #isExported(symbol: string): boolean {
    const { libraries = [] } = this.#options
    return libraries.length === 0 || libraries.some(({ symbols }) => symbols?.has(symbol) ?? true)
  }

  #functions({ functions }: Declarations, types: TypeBuilder): BoundFunction[] {
    return [...functions.values()].flatMap((declaration) => {
      const { name, place } = declaration
      return this.#isSelected(name, place) ? (this.#function(declaration, types) ?? []) : []
    })
  }

  /** A function of the libraries, or else of the shim. Undefined for one that is refused. */
  #function(declaration: FunctionDeclaration, types: TypeBuilder): BoundFunction | undefined {
    const { name, place, isInline, type: declared } = declaration
    if (isInline) return this.#wrapper(declaration, types, 'inline function', '')
    const version = this.#versionOf(name)
    const symbol = `${declaration.symbol ?? name}${version === undefined ? '' : `@${version}`}`
    if (!this.#isExported(symbol)) {
      const inVersion = version === undefined ? '' : `in the version ${version} `
      this.#refuse(name, place, 'not exported', `${inVersion}by ${this.#libraryNames}`)
      return undefined
    }
    const type = types.functionType(declared)
    const reason = reasonNotCallable(type, types)
    if (reason !== undefined) return this.#wrapper(declaration, types, 'type cannot be passed', reason)
    return { name, ...(symbol === name ? {} : { symbol }), type, place }
  }

  /** The version of a symbol. Only those of Linux have versions. */
  #versionOf(name: string): string | undefined {
    const { versions = {}, target = hostPlatform.name } = this.#options
    return target.startsWith('linux') && Object.hasOwn(versions, name) ? versions[name] : undefined
  }

  get #libraryNames(): string {
    return (this.#options.libraries ?? []).map((library) => library.name).join(', ')
  }

  /** A function of the shim that calls this one. Without a shim it is refused. */
  #wrapper(
    declaration: FunctionDeclaration,
    types: TypeBuilder,
    reason: RefusalReason,
    detail: string,
  ): BoundFunction | undefined {
    const binding = bindWrapper(declaration, types)
    return this.#bind(binding, declaration, reason, detail)
  }

  #bind(
    binding: ShimBinding | undefined,
    { name, place }: { readonly name: string; readonly place: Place },
    reason: RefusalReason,
    detail: string,
  ): BoundFunction | undefined {
    if (binding !== undefined && this.#options.shim !== undefined) {
      this.#shim.push(binding)
      return binding.bound
    }
    const hint = binding === undefined ? [] : ['needs --shim']
    this.#refuse(name, place, reason, [...(detail === '' ? [] : [detail]), ...hint].join(', '))
    return undefined
  }

  /** Macros with parameters whose types are known. */
  #macroFunctions(
    { functions }: Declarations,
    macros: ReadonlyMap<string, MacroDefinition>,
    types: TypeBuilder,
  ): BoundFunction[] {
    return Object.keys(this.#options.macros ?? {}).flatMap((name) => {
      const macro = macros.get(name)
      if (macro?.parameters === undefined)
        throw new ToolError(`the headers must define the macro ${name} with parameters, because its types are given`)
      const binding = bindMacroFunction(name, macro.place, functions.get(declaredMacro(name))!, types)
      return this.#bind(binding, macro, 'function-like macro', '') ?? []
    })
  }

  #variables({ variables }: Declarations, { variables: sizes }: Layouts, types: TypeBuilder): BoundVariable[] {
    const bound: BoundVariable[] = []
    for (const { name, type, isConst, isThreadLocal, place } of variables.values()) {
      const byteSize = sizes.get(name)
      if (!this.#isSelected(name, place)) continue
      if (isThreadLocal) this.#refuse(name, place, 'thread-local')
      else if (!this.#isExported(name)) this.#refuse(name, place, 'not exported', `by ${this.#libraryNames}`)
      else if (byteSize === undefined) this.#refuse(name, place, 'type cannot be passed', 'its size is unknown')
      else bound.push({ name, type: types.typeOf(type), isConst, byteSize, place })
    }
    return bound
  }

  /** Structs and enumerations of the headers are bound although no function has them. */
  #reachOwnedTypes({ records, enums }: Declarations, types: TypeBuilder): void {
    for (const record of records) {
      const { spelling = '', place, isDefinedTwice, members } = record
      if (members === undefined || !this.#isSelected(record.tag ?? spelling, place)) continue
      if (isDefinedTwice) this.#refuse(spelling, place, 'two definitions')
      else types.typeOf({ kind: 'record', record })
    }
    for (const enumeration of enums) {
      const { spelling, place, enumerators } = enumeration
      if (spelling !== undefined && enumerators !== undefined && this.#isSelected(enumeration.tag ?? spelling, place))
        types.typeOf({ kind: 'enum', enumeration })
    }
  }

  #enumerators({ enums }: Declarations, { enumerators }: Layouts, types: TypeBuilder): BoundConstant[] {
    const enumOf = new Map(types.enums.flatMap(({ id, names }) => names.map((name) => [name, id])))
    return enums.flatMap((enumeration) =>
      (enumeration.enumerators ?? []).flatMap(({ name, place }): BoundConstant[] => {
        const value = enumerators.get(name)
        const id = enumOf.get(name)
        if (value === undefined || (id === undefined && !this.#isSelected(name, place))) return []
        const enumerator = { name, constant: { kind: 'integer', value }, isMacro: false, place } as const
        return [id === undefined ? enumerator : { ...enumerator, enumeration: id }]
      }),
    )
  }

  /** The constants of macros. Those without a value become functions of the shim. */
  #constants(
    macros: ReadonlyMap<string, MacroDefinition>,
    values: ReadonlyMap<string, MacroValue | string>,
    functions: BoundFunction[],
  ): BoundConstant[] {
    return [...values].flatMap(([name, value]): BoundConstant[] => {
      const { place } = macros.get(name)!
      if (value === 'depends on the compiler') this.#refuse(name, place, value)
      else if (value === 'has a reserved name') this.#refuse(name, place, 'reserved name')
      else if (value === 'is not an expression') this.#refuse(name, place, 'not an expression')
      else if (value === 'has a value of more than 64 bits') this.#refuse(name, place, 'too large', 'for 64 bits')
      else if (typeof value !== 'string') {
        if (value.kind !== 'run-time')
          return [
            {
              name,
              constant: value.kind === 'integer' ? { kind: 'integer', value: value.value } : value,
              isMacro: true,
              place,
            },
          ]
        const binding = value.as === undefined ? undefined : bindMacroValue(name, place, value.as)
        const bound = this.#bind(binding, { name, place }, 'known at run time only', '')
        if (bound) functions.push(bound)
      }
      return []
    })
  }

  /** Names of functions, variables and constants, which structs and enumerations must not have. */
  #takenNames({ functions, variables, enums }: Declarations, values: ReadonlyMap<string, unknown>): Set<string> {
    return new Set([
      ...functions.keys(),
      ...variables.keys(),
      ...values.keys(),
      ...enums.flatMap(({ enumerators }) => (enumerators ?? []).map(({ name }) => name)),
    ])
  }
}
