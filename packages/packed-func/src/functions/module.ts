import { resolve } from 'node:path'
import { LoadError, NativeLibrary } from '@tenon/core'
import {
  addressOf,
  checkFileIdentity,
  checkName,
  checkOptions,
  didYouMean,
  fileIdentity,
  keepAlive,
  libraryFunctions,
  unloadable,
  wrongType,
} from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { AttributeError, InternalError } from '../errors/error-kinds.ts'
import { host } from '../native/host.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { bindClass, NativeObject, openCell } from '../objects/native-object.ts'
import type { NativeArray } from '../objects/containers.ts'
import { readType } from '../types/type-table.ts'
import { missingRuntime } from './missing-runtime.ts'
import { readModuleFile, type ModuleFile } from './module-file.ts'
import { builtin } from './registry.ts'
import type { Value } from '../values/argument.ts'
import { PackedFunc } from './packed-func.ts'

/** How {@link Module} looks up a function. */
export interface LookUpOptions {
  /** Whether to search the modules that the module imports too: true by default. */
  readonly imports?: boolean
}

/**
 * A library of compiled kernels. Its functions keep it open, and its code stays mapped for as long as the process runs.
 *
 * It can be a library of any version of tvm-ffi 0.1 or TVM: Tenon knows how each names its functions, which variables it
 * expects to be filled, and the calling convention before tvm-ffi.
 *
 * @example
 * const lib = Module.open('./libpacked.so')
 * lib.get('add_one')(x, y)
 */
export class Module extends NativeObject {
  static {
    bindClass(this, TypeIndex.Module)
  }

  static override readonly typeKey: string = 'ffi.Module'

  #path: string | undefined
  /** The facts that the file states: undefined until the file is read, and null if the file cannot be read. */
  #file: ModuleFile | null | undefined

  /**
   * Opens a library. Its extension selects the loader, `ffi.Module.load_from_file.<extension>`.
   *
   * @param options.legacy says whether a shared library without any mark of its version has kernels of TVM to 0.20. By default it
   * has if it exports `__tvm_main__` and no name of tvm-ffi.
   * @throws {LoadError} that names the problem of the file: it is missing, is not a library, is for another processor, or lacks
   * a dependency or symbol. Also if it has kernels of TVM to 0.20, and the process uses a tvm-ffi library other than this
   * package's.
   * @throws {PackedFuncError} of kind `RuntimeError` if there is no loader for it, or for a module inside it.
   */
  static open(path: string, options?: { readonly legacy?: boolean }): Module {
    const { legacy } = checkOptions(options, ['legacy'])
    if (legacy !== undefined && typeof legacy !== 'boolean') throw wrongType('legacy', 'a boolean', legacy)
    if (unloadable(resolve(checkName(path, 'path'))) !== undefined) NativeLibrary.open(path)
    const identity = fileIdentity(path)
    const file = readModuleFile(path)
    const isUnmarkedLegacy = legacy ?? file?.hasLegacyEntry ?? false
    if (isUnmarkedLegacy || file?.isMarkedLegacy === true) prepareLegacy(path)
    const opened = load(path, isUnmarkedLegacy)
    checkFileIdentity(path, identity)
    opened.#path = path
    opened.#file = file ?? null
    return opened
  }

  /** Looks up a function of the module. @returns undefined if there is none. */
  tryGet(name: string, options?: LookUpOptions): PackedFunc | undefined {
    return (this.#ask('GetFunction', name, options) as PackedFunc | null)?.rename(name)
  }

  /** As {@link tryGet}. @throws {PackedFuncError} of kind `AttributeError` if there is no such function; the hint names similar ones. */
  get(name: string, options?: LookUpOptions): PackedFunc {
    const found = this.tryGet(name, options)
    if (found !== undefined) return found
    throw new AttributeError(`Module has no function '${name}'`, { hint: this.#hintFor(name) })
  }

  /** The function that the compiler marked as the entry. @throws as {@link get} */
  get entry(): PackedFunc {
    return this.get('main')
  }

  /** Whether {@link get} would find a function. */
  has(name: string, options?: LookUpOptions): boolean {
    return this.#ask('ImplementsFunction', name, options) as boolean
  }

  /** The kind of module, such as `library`. */
  get kind(): string {
    return builtin('ffi.ModuleGetKind')(this) as string
  }

  /** The metadata that the library carries for a function: JSON with its `type_schema`, or undefined. */
  metadata(name: string): string | undefined {
    return (this.#ask('GetFunctionMetadata', name) as string | null) ?? undefined
  }

  /** The documentation that the library carries for a function, or undefined. */
  doc(name: string): string | undefined {
    return (this.#ask('GetFunctionDoc', name) as string | null) ?? undefined
  }

  /**
   * The names of the functions that the file of the library exports, without their prefix. Undefined for a module that is not such
   * a library, such as one that C++ code made, or a library of TVM to 0.21.
   */
  get functionNames(): readonly string[] | undefined {
    return this.#file?.usesFfi === true ? this.#file.functions : undefined
  }

  /** The capabilities of the module as a sum: 1 if it can be saved as bytes, 2 if it can run, 4 if it can be written as a file to compile. */
  get propertyMask(): number {
    return builtin('ffi.ModuleGetPropertyMask')(this) as number
  }

  /** The source code of the module, or an empty text if it is not known. @param format one of the module's own, by default none. */
  source(format = ''): string {
    if (typeof format !== 'string') throw wrongType('format', 'a string', format)
    return builtin('ffi.ModuleInspectSource')(this, format) as string
  }

  /** The formats in which {@link writeToFile} can write the module. Empty for a library. */
  get writeFormats(): readonly string[] {
    return valuesOf(builtin('ffi.ModuleGetWriteFormats')(this)) as string[]
  }

  /** Writes the module as a file. @throws {PackedFuncError} of kind `RuntimeError` if the module cannot be written, as a library. */
  writeToFile(path: string, format: string): void {
    builtin('ffi.ModuleWriteToFile')(this, checkName(path, 'path'), checkName(format, 'format'))
  }

  /** The modules that this one imports, in the order in which {@link get} searches them. The caller may close them. */
  get imports(): readonly Module[] {
    // The function reads the field of any object.
    if (openCell(this).typeIndex !== TypeIndex.Module) throw wrongType('the object', 'a module', this)
    return valuesOf(readImports()(this)) as Module[]
  }

  /** Makes functions of another module available through this one. @throws {PackedFuncError} if that makes a circle. */
  import(module: Module): void {
    builtin('ffi.ModuleImportModule')(this, module)
  }

  /** Removes all imports. Functions that were looked up before keep working. */
  clearImports(): void {
    builtin('ffi.ModuleClearImports')(this)
  }

  /** The path that was opened: `Module ./libpacked.so`. */
  override toString(): string {
    return this.#path === undefined ? super.toString() : `Module ${this.#path}${this.isAlive ? '' : ', closed'}`
  }

  #hintFor(name: string): string | undefined {
    const { usesFfi, functions, plainFunctions } = this.#file ?? { usesFfi: true, functions: [], plainFunctions: [] }
    if (usesFfi || !plainFunctions.includes(name)) return didYouMean(name, [...functions, ...plainFunctions])
    return 'The library exports a plain function of this name. If TVM to 0.20 compiled it, open it with { legacy: true }.'
  }

  #ask(what: string, name: string, options?: LookUpOptions): unknown {
    const { imports = true } = checkOptions(options, ['imports'])
    return builtin(`ffi.Module${what}`)(this, checkName(name, 'name'), imports)
  }
}

/** The values of an array that native code returned, which is closed. */
function valuesOf(array: Value): unknown[] {
  try {
    return (array as NativeArray).toArray()
  } finally {
    ;(array as NativeArray).close()
  }
}

/** Loads a module from a file. If the system's loader refuses the file, the error names the problem of the file. */
function load(path: string, legacy: boolean): Module {
  const [loadFile, format] = legacy
    ? [builtin('runtime.module.loadfile_so'), 'so']
    : [builtin('ffi.ModuleLoadFromFile')]
  openFirst(path)
  try {
    return (format === undefined ? loadFile(path) : loadFile(path, format)) as Module
  } catch (error) {
    if (error instanceof InternalError) explainFailure(path, error)
    throw error
  }
}

/** Runs the constructors of a library, which may need the stack of the thread, as `NativeLibrary` does. What fails here fails again afterwards. */
function openFirst(path: string): void {
  try {
    NativeLibrary.open(path)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
  }
}

/** @throws {LoadError} if the file cannot be loaded as a library. Otherwise, something in the library has failed. */
function explainFailure(path: string, cause: InternalError): void {
  try {
    NativeLibrary.open(path)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    const { sentence, hint, details } = missingRuntime(path, cause.sentence) ?? error
    throw new LoadError(sentence, { hint, details, cause })
  }
}

let importsOf: PackedFunc | undefined

/** The function that reads the field `imports_`, which the bound library registers for modules. */
function readImports(): PackedFunc {
  if (importsOf !== undefined) return importsOf
  const field = readType(TypeIndex.Module).fields.find(({ name }) => name === 'imports_')
  if (field === undefined)
    throw new AttributeError(`the tvm-ffi library ${host().ffiPath} does not list imports of modules`)
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const status = stack.host.tn_packed_field_create(stack.slotAddress(slot), addressOf(field.info), 0)
    keepAlive(field.info)
    if (status !== 0) throw takeError(stack, slot)
    importsOf = new PackedFunc(TypeIndex.Function, stack.pointer(slot), field.name)
    return importsOf
  })
}

let isLoaded = false

/**
 * Loads `libtvm_runtime` for a library that has kernels of TVM to 0.20, which import it and use the calling convention before
 * tvm-ffi.
 *
 * @throws {LoadError} if the process uses a tvm-ffi library other than this package's, which cannot call them.
 */
function prepareLegacy(path: string): void {
  if (isLoaded) return
  const { ffi, ffiPath } = host()
  if (ffi === undefined) {
    throw new LoadError(`${path} has kernels of TVM to 0.20, which the tvm-ffi library ${ffiPath} cannot call`, {
      hint: 'Unset TENON_TVM_FFI_LIBRARY to use the library of this package.',
      details: { path },
    })
  }
  libraryFunctions('tvm_runtime').tn_tvm_legacy_install()
  isLoaded = true
}
