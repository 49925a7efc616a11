import { checkName } from '@tenon/core/internal'
import { AttributeError } from '../errors/kind-classes.ts'
import { prepareLegacy } from '../native/legacy.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject } from '../objects/native-object.ts'
import { builtin } from './builtin.ts'
import type { PackedFunc } from './packed-func.ts'

/**
 * A library of compiled kernels. Its functions keep it; its code stays mapped for as long as the process runs.
 *
 * Libraries of tvm-ffi 0.1 and of TVM are understood, whatever the version: the names of their functions, the variables that
 * they want to be filled, and the calling convention before tvm-ffi.
 *
 * @example
 * const lib = Module.load('./libkernels.so')
 * lib.get('add_one').call(x, y)
 */
export class Module extends NativeObject {
  /** @internal takes over a reference */
  constructor(handle: number) {
    super(TypeIndex.Module, handle)
  }

  /**
   * Loads a library: by its extension, with the loader `ffi.Module.load_from_file.<extension>`.
   *
   * @param options with `legacy` a shared library that nothing marks has kernels of TVM to 0.20, written by hand.
   * @throws {PackedFuncError} of kind `InternalError` with the system's words if it can't be loaded, of kind `RuntimeError`
   * if there is no loader for it, or it has modules inside that can't be loaded.
   * @throws {LoadError} if it has kernels of TVM to 0.20, and the process uses another tvm-ffi library than this package's.
   */
  static load(path: string, options: { readonly legacy?: boolean } = {}): Module {
    const legacy = options.legacy ?? false
    prepareLegacy(checkName(path, 'path'), legacy)
    const module = legacy
      ? builtin('runtime.module.loadfile_so').call(path, 'so')
      : builtin('ffi.ModuleLoadFromFile').call(path)
    return module as Module
  }

  /** A function of the library or, with `imports`, of the modules that it imports; undefined if there is none. */
  tryGet(name: string, options: { readonly imports?: boolean } = {}): PackedFunc | undefined {
    const found = this.#ask('ffi.ModuleGetFunction', name, options.imports ?? true) as PackedFunc | null
    return found ?? undefined
  }

  /** As {@link tryGet}. @throws {PackedFuncError} of kind `AttributeError` if there is none. */
  get(name: string, options: { readonly imports?: boolean } = {}): PackedFunc {
    const found = this.tryGet(name, options)
    if (found === undefined) throw new AttributeError(`Module has no function '${name}'`)
    return found
  }

  /** The function that the compiler marked as the entry. @throws as {@link get} */
  get entry(): PackedFunc {
    return this.get('main')
  }

  /** Whether {@link get} would find a function. */
  has(name: string, options: { readonly imports?: boolean } = {}): boolean {
    return this.#ask('ffi.ModuleImplementsFunction', name, options.imports ?? true) as boolean
  }

  /** What made it: `library`. */
  get kind(): string {
    return builtin('ffi.ModuleGetKind').call(this) as string
  }

  /** What the library tells of a function: JSON with its `type_schema`, or undefined. */
  metadata(name: string): string | undefined {
    return (this.#ask('ffi.ModuleGetFunctionMetadata', name, true) as string | null) ?? undefined
  }

  /** The documentation of a function, or undefined. */
  doc(name: string): string | undefined {
    return (this.#ask('ffi.ModuleGetFunctionDoc', name, true) as string | null) ?? undefined
  }

  /** Lets functions of another module be found through this one. @throws {PackedFuncError} if that makes a circle. */
  import(module: Module): void {
    builtin('ffi.ModuleImportModule').call(this, module)
  }

  #ask(what: string, name: string, imports: boolean): unknown {
    return builtin(what).call(this, checkName(name, 'name'), imports)
  }
}
