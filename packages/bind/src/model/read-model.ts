import { basename } from 'node:path'

import { hostPlatform } from '@tenon/build'
import { findToolchain, matches } from '@tenon/build/internal'

import { HeadersProblem } from '../bind-error.ts'
import { askLayouts, type Layouts } from '../probe/layouts.ts'
import { evaluateMacros, type MacroValue } from '../probe/macros.ts'
import type { FunctionDeclaration, MacroDefinition, Place } from '../read/c-types.ts'
import { type Declarations, readDeclarations } from '../read/declarations.ts'
import { HeaderCompiler } from '../read/preprocess.ts'
import { isCompilerFile, systemFiles } from '../read/system-files.ts'
import { tokenize } from '../read/tokens.ts'
import { reasonNotCallable } from './callable.ts'
import { chooseNames } from './choose-names.ts'
import type {
  BoundConstant,
  BoundFunction,
  BoundVariable,
  FunctionType,
  Model,
  Refusal,
  RefusalReason,
} from './model.ts'
import { TypeBuilder } from './type-builder.ts'

/** The names that one shared library exports. */
export interface LibraryExports {
  /** The name by which it is loaded, such as `libsqlite3.so.0`. */
  readonly name: string
  readonly symbols: ReadonlySet<string>
}

/** The options of {@link readModel}. */
export interface ReadOptions {
  /** Flags for the preprocessor: `-I`, `-isystem`, `-D`, `-U`, `-include`, `-std`. */
  readonly flags?: readonly string[]
  /** The libraries whose functions are bound. Without any, all functions are, and are looked up when the module runs. */
  readonly libraries?: readonly LibraryExports[]
  /** Patterns of names to bind; a final `*` matches any rest. Without any, all names are bound. */
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  /** Patterns of paths of headers whose declarations are bound although they belong to the system. */
  readonly headerFiles?: readonly string[]
}

/**
 * Reads headers with the C compiler of this machine (`CC`, or the usual names).
 *
 * @param headers paths, or names in angle brackets that the compiler searches. They are included in this order in one unit.
 * @throws {CompilerError} if the compiler refuses the headers. @throws {HeadersProblem} if a declaration of the headers cannot be read.
 */
export async function readModel(headers: readonly string[], options: ReadOptions = {}): Promise<Model> {
  const { compilers } = await findToolchain(['c'], {
    variant: 'release',
    platform: hostPlatform,
    portable: false,
    directory: process.cwd(),
  })
  const compiler = await HeaderCompiler.open(compilers.get('c')!, headers, options.flags ?? [])
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
  #systemFiles: ReadonlySet<string> = new Set()
  #headerFiles: ReadonlySet<string> = new Set()

  constructor(compiler: HeaderCompiler, headers: readonly string[], options: ReadOptions) {
    this.#compiler = compiler
    this.#headers = headers
    this.#options = options
  }

  async read(): Promise<Model> {
    const compiler = this.#compiler
    const [text, files] = await Promise.all([
      compiler.preprocess(compiler.includes, ['-dD']),
      systemFiles(compiler),
      compiler.check(),
    ])
    const { tokens, macros, headerFiles } = tokenize(text)
    this.#systemFiles = files
    this.#headerFiles = headerFiles
    const declarations = readDeclarations(tokens)
    const problem = declarations.problems.find(({ place }) => this.#isOwned(place))
    if (problem) throw new HeadersProblem(problem.place, problem.message)

    const [values, layouts] = await Promise.all([
      evaluateMacros(compiler, this.#constantMacros(macros), macros),
      askLayouts(compiler, declarations, macros),
    ])
    const types = new TypeBuilder(layouts, chooseNames(declarations, this.#takenNames(declarations, values)), (place) =>
      this.#isOwned(place),
    )
    const functions = this.#functions(declarations, types)
    const variables = this.#variables(declarations, layouts, types)
    this.#reachOwnedTypes(declarations, types)
    return {
      tenon: 1,
      target: `${process.platform}-${process.arch}`,
      headers: this.#headers.map((header) => basename(header.replaceAll(/[<>]/g, ''))),
      functions,
      records: types.records,
      enums: types.enums,
      constants: [...this.#enumerators(declarations, layouts, types), ...this.#constants(macros, values)],
      variables,
      refused: this.#refused,
    }
  }

  /** Whether a declaration belongs to the headers that are bound, and not to the system or the compiler. */
  #isOwned({ file }: Place): boolean {
    if (this.#headerFiles.has(file) || this.#options.headerFiles?.some((pattern) => matches(pattern, file))) return true
    return !isCompilerFile(file) && !this.#systemFiles.has(file)
  }

  #isSelected(name: string, place: Place): boolean {
    const { include, exclude } = this.#options
    if (!this.#isOwned(place) || exclude?.some((pattern) => matches(pattern, name))) return false
    return include === undefined || include.length === 0 || include.some((pattern) => matches(pattern, name))
  }

  #refuse(name: string, place: Place, reason: RefusalReason, detail = ''): void {
    this.#refused.push({ name, reason, detail, place })
  }

  #constantMacros(macros: ReadonlyMap<string, MacroDefinition>): MacroDefinition[] {
    return [...macros.values()].filter(({ name, parameters, body, place }) => {
      if (!this.#isSelected(name, place)) return false
      if (parameters !== undefined) this.#refuse(name, place, 'function-like macro')
      return parameters === undefined && body !== ''
    })
  }

  #isExported(symbol: string): boolean {
    const { libraries = [] } = this.#options
    return libraries.length === 0 || libraries.some(({ symbols }) => symbols.has(symbol))
  }

  #functions({ functions }: Declarations, types: TypeBuilder): BoundFunction[] {
    const bound: BoundFunction[] = []
    for (const declaration of functions.values()) {
      const { name, place, symbol = name } = declaration
      const type = this.#isSelected(name, place) ? this.#callableType(declaration, types) : undefined
      if (type === undefined) continue
      bound.push({ name, ...(symbol === name ? {} : { symbol }), type, place })
    }
    return bound
  }

  /** The type of a function that can be bound. Undefined for one that is refused. */
  #callableType(
    { name, place, symbol = name, isInline, type: declared }: FunctionDeclaration,
    types: TypeBuilder,
  ): FunctionType | undefined {
    const { libraries = [] } = this.#options
    if (isInline) {
      this.#refuse(name, place, 'inline function')
    } else if (!this.#isExported(symbol)) {
      this.#refuse(name, place, 'not exported', `by ${libraries.map((library) => library.name).join(', ')}`)
    } else {
      const type = types.functionType(declared)
      const reason = reasonNotCallable(type, types)
      if (reason === undefined) return type
      this.#refuse(name, place, 'type cannot be passed', reason)
    }
    return undefined
  }

  #variables({ variables }: Declarations, { variables: sizes }: Layouts, types: TypeBuilder): BoundVariable[] {
    const bound: BoundVariable[] = []
    for (const { name, type, isConst, isThreadLocal, place } of variables.values()) {
      const byteSize = sizes.get(name)
      if (!this.#isSelected(name, place)) continue
      if (isThreadLocal) this.#refuse(name, place, 'thread-local')
      else if (!this.#isExported(name))
        this.#refuse(
          name,
          place,
          'not exported',
          `by ${(this.#options.libraries ?? []).map((library) => library.name).join(', ')}`,
        )
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

  #constants(
    macros: ReadonlyMap<string, MacroDefinition>,
    values: ReadonlyMap<string, MacroValue | string>,
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
        this.#refuse(name, place, 'known at run time only')
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
