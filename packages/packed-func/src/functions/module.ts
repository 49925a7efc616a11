import { resolve } from 'node:path'
import { LoadError, NativeLibrary, readBinary } from '@tenon/core'
import { checkName, checkOptions, didYouMean, libraryFunctions, unloadable } from '@tenon/core/internal'
import { AttributeError, InternalError } from '../errors/error-kinds.ts'
import { host } from '../native/host.ts'
import { TypeIndex } from '../native/type-index.ts'
import { bindClass, NativeObject } from '../objects/native-object.ts'
import { builtin } from './registry.ts'
import type { PackedFunc } from './packed-func.ts'

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

  /**
   * Opens a library. Its extension selects the loader, `ffi.Module.load_from_file.<extension>`.
   *
   * @param options.legacy says that a shared library without any mark of its version has hand-written kernels of TVM to 0.20.
   * @throws {LoadError} that names the problem of the file: it is missing, is not a library, is for another processor, or lacks
   * a dependency or symbol. Also if it has kernels of TVM to 0.20, and the process uses a tvm-ffi library other than this
   * package's.
   * @throws {PackedFuncError} of kind `RuntimeError` if there is no loader for it, or for a module inside it.
   */
  static open(path: string, options?: { readonly legacy?: boolean }): Module {
    const { legacy = false } = checkOptions(options, ['legacy'])
    if (unloadable(resolve(checkName(path, 'path'))) !== undefined) NativeLibrary.open(path)
    prepareLegacy(path, legacy)
    const opened = load(path, legacy)
    opened.#path = path
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
    const names = this.#path === undefined ? [] : exportedFunctions(this.#path)
    throw new AttributeError(`Module has no function '${name}'`, { hint: didYouMean(name, names) })
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

  /** Makes functions of another module available through this one. @throws {PackedFuncError} if that makes a circle. */
  import(module: Module): void {
    builtin('ffi.ModuleImportModule')(this, module)
  }

  /** The path that was opened: `Module ./libpacked.so`. */
  override toString(): string {
    return this.#path === undefined ? super.toString() : `Module ${this.#path}${this.isAlive ? '' : ', closed'}`
  }

  #ask(what: string, name: string, options?: LookUpOptions): unknown {
    const { imports = true } = checkOptions(options, ['imports'])
    return builtin(`ffi.Module${what}`)(this, checkName(name, 'name'), imports)
  }
}

/** Loads a module from a file. If the system's loader refuses the file, the error is that of {@link NativeLibrary.open}. */
function load(path: string, legacy: boolean): Module {
  try {
    const module = legacy ? builtin('runtime.module.loadfile_so')(path, 'so') : builtin('ffi.ModuleLoadFromFile')(path)
    return module as Module
  } catch (error) {
    if (error instanceof InternalError) explainFailure(path, error)
    throw error
  }
}

/** @throws {LoadError} if the file cannot be loaded as a library. Otherwise, something in the library has failed. */
function explainFailure(path: string, cause: Error): void {
  try {
    NativeLibrary.open(path)
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    const { sentence, hint, details } = error
    throw new LoadError(sentence, { hint, details, cause })
  }
}

/** The names under which a library exports functions: with the prefix of tvm-ffi removed, and the plain names of TVM to 0.21. */
function exportedFunctions(path: string): string[] {
  try {
    const functions = readBinary(path).exports.filter(({ kind }) => kind === 'function')
    return functions.map(({ name }) => name.replace(/^__tvm_ffi_/, '')).filter((name) => !name.startsWith('_'))
  } catch {
    return [] // Another kind of file, or a library that the loader found by its name.
  }
}

let isLoaded = false

/**
 * Loads `libtvm_runtime` if a library has kernels of TVM to 0.20, which import it and use the calling convention before tvm-ffi.
 *
 * @param isKnown whether the caller says that it has such kernels.
 * @throws {LoadError} if the process uses a tvm-ffi library other than this package's, which cannot call them.
 */
function prepareLegacy(path: string, isKnown: boolean): void {
  if (isLoaded || (!isKnown && !isLegacy(path))) return
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

/** If the library cannot be read, loading reports the reason. */
function isLegacy(path: string): boolean {
  try {
    const names = new Set(readBinary(path).exports.map(({ name }) => name))
    const has = names.has('__tvm_module_ctx') || names.has('__tvm_dev_mblob')
    return has && !names.has('__tvm_ffi__library_ctx')
  } catch {
    return false
  }
}
