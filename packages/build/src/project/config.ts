import type { PlatformName } from '../platform.ts'

/** A shared library, of kernels or of functions that are bound. Paths are relative to the directory of the configuration and use `/`. */
export interface KernelLibrary {
  /** The name of the file without prefix and extension: `my_kernels` for `libmy_kernels.so`. */
  readonly name: string
  /** The source files as globs: `.c` is C11, `.cc`, `.cpp` and `.cxx` C++17, `.cu` CUDA, and `.S` assembly. A glob that matches no file is an error. */
  readonly sources: readonly string[]
  /** Further directories for `#include`. Those of Tenon's headers and of the sources need not be listed. */
  readonly includes?: readonly string[]
  /** The macros. Values are not quoted, so strings need their own quotes. */
  readonly defines?: Readonly<Record<string, string>>
  /** Further flags of the compiler, behind those of Tenon. */
  readonly flags?: readonly string[]
  /** The system libraries by `-l` name, such as `m`. */
  readonly libraries?: readonly string[]
  /** The functions of the system that the library may use. A final `*` matches any rest. By default all of the C library. */
  readonly imports?: readonly string[]
  /** The symbols that the library may export. Those without `*` are required. By default all. */
  readonly exports?: readonly string[]
  /** The symbols that the process provides, such as `TVMFFI*` in a library of packed functions. */
  readonly unresolved?: readonly string[]
  /** Links a C++ runtime into the library. Exceptions then cannot leave the library with their text. */
  readonly cxxRuntime?: 'static'
  /** The architectures of GPUs for which `.cu` sources are compiled, such as `sm_90`. By default that of this machine's GPU. */
  readonly cuda?: { readonly architectures: readonly string[] }
  /** Whether a build without the compiler for the library leaves it out with a warning. */
  readonly optional?: boolean
}

/** A test program in C or C++, which `tenon test` builds and runs. It passes if it ends with the exit code 0. */
export interface KernelTest {
  /** The name of the program. */
  readonly name: string
  /** The source files as globs. */
  readonly sources: readonly string[]
  /** Further directories for `#include`. */
  readonly includes?: readonly string[]
  /** The macros. */
  readonly defines?: Readonly<Record<string, string>>
  /** Further flags of the compiler. */
  readonly flags?: readonly string[]
  /** The system libraries by `-l` name. */
  readonly libraries?: readonly string[]
  /** The names of the libraries of this configuration with which the program is linked. */
  readonly uses?: readonly string[]
}

/** The headers of a C library that a package binds. Paths are relative to the directory of the configuration and use `/`. */
export interface Binding {
  /** The headers, each after those that it needs: paths, or names that the compiler searches, such as `sqlite3.h`. */
  readonly headers: readonly string[]
  /** The path of the JSON file that says what the headers do not: results, handles, lengths and errors. */
  readonly annotations?: string
  /**
   * The libraries of the system that have the functions, besides those of the configuration, by the names that the loader searches:
   * `libz.so.1`. Those of a system or platform have its name: `linux=libz.so.1`, `darwin=libz.1.dylib`.
   */
  readonly systemLibraries?: readonly string[]
  /** Further directories for `#include`. */
  readonly includes?: readonly string[]
  /** The macros. Values are not quoted, so strings need their own quotes. */
  readonly defines?: Readonly<Record<string, string>>
  /** Patterns of the names to bind; a final `*` matches any rest. By default all that the headers declare. */
  readonly include?: readonly string[]
  /** Patterns of names to leave out. */
  readonly exclude?: readonly string[]
  /** Patterns of the paths of headers whose declarations are bound although they belong to the system. */
  readonly headerFiles?: readonly string[]
  /** Prefixes to remove from the names of functions, variables and constants. */
  readonly stripPrefixes?: readonly string[]
}

/** The configuration of a package of kernels, or of one that binds a C library: the default export of `tenon.config.ts`. */
export interface ProjectConfig {
  /** The name of the npm package that `tenon pack` writes. By default that of package.json. */
  readonly name?: string
  /** The libraries to compile. Only a package that binds a library of the system can be without any. */
  readonly libraries?: readonly KernelLibrary[]
  /** The C library whose functions the module of the package exports, instead of kernels. */
  readonly binding?: Binding
  readonly tests?: readonly KernelTest[]
  /** The platforms for which `tenon build --target all` builds. By default that of this machine. */
  readonly platforms?: readonly PlatformName[]
}

/**
 * Returns the configuration, whose type is checked. `tenon build` checks its values.
 *
 * @example
 * const config = defineConfig({
 *   libraries: [{ name: 'my_kernels', sources: ['src/*.c'], libraries: ['m'] }],
 *   platforms: ['linux-x64-gnu', 'darwin-arm64'],
 * })
 * config.libraries?.[0]?.name // 'my_kernels'
 */
export function defineConfig(config: ProjectConfig): ProjectConfig {
  return config
}
