/**
 * How a library or a program is compiled: `release` ships, `debug` is for debuggers, `asan` finds memory errors, `tsan` data
 * races, `fuzz` does as `asan` and tells the fuzz driver what was reached, `libfuzzer` tells clang's own driver.
 */
export type Variant = 'release' | 'debug' | 'asan' | 'tsan' | 'fuzz' | 'libfuzzer'

/** What every native target states. Paths are relative to the package's directory and use `/`. */
interface TargetBase {
  /** The artifact's name without prefix and extension: `tenon` becomes `libtenon.so`. Unique in the package. */
  readonly name: string
  /**
   * Source files as globs; the extension gives the language (`.c` is C11, `.cc` is C++17). `{posix|win32}` stands for
   * the first word on every platform but Windows. A glob that matches nothing is an error.
   */
  readonly sources: readonly string[]
  /** Directories for `#include`. */
  readonly includes?: readonly string[]
  /** Macros; a value is written as it stands (quote strings). */
  readonly defines?: Readonly<Record<string, string>>
  /** System libraries by `-l` name. Those that are part of the C library on Windows are left out there. */
  readonly libraries?: readonly string[]
  /** Shared targets of the same package to link with; found at run time beside the artifact. */
  readonly uses?: readonly string[]
  /** More compiler flags, for every source. */
  readonly flags?: readonly string[]
}

/** A shared library. Names in its lists may end in `*`. */
export interface SharedTarget extends TargetBase {
  readonly kind: 'shared'
  /** The symbols it may import from the system and from what it `uses`, without version (checked on Linux). */
  readonly imports: readonly string[]
  /** Symbols it leaves undefined on purpose: the process that loads it has them. */
  readonly unresolved?: readonly string[]
  /** The only symbols it may export, and those without `*` must be there (checked on Linux). */
  readonly exports?: readonly string[]
  /** For the package's own tests: the platform packages leave it out. */
  readonly fixture?: boolean
}

/**
 * A program. A `test` prints a line for each of its tests (see `native-test`). A `fuzz` target defines
 * LLVMFuzzerTestOneInput() and gets a driver, which takes `--seconds N --corpus DIR --seeds DIR`, or files to run.
 */
export interface ProgramTarget extends TargetBase {
  readonly kind: 'test' | 'fuzz'
}

/** One row of a package's target table. */
export type NativeTarget = SharedTarget | ProgramTarget

/** The default export of a package's `native.targets.ts`. */
export interface NativePackage {
  readonly targets: readonly NativeTarget[]
  /** The directory of the platform packages, if this package has any: `native-build --package` fills them. */
  readonly platformPackages?: string
  /** A status table in C, and the TypeScript file that is generated from it. */
  readonly statusTable?: { readonly source: string; readonly output: string }
  readonly abi?: AbiTables
}

/** The headers of a package's libraries, and the files that are generated from them. Paths as in the targets. */
export interface AbiTables {
  /** The headers, each after those that it uses. */
  readonly headers: readonly {
    readonly source: string
    /** How C includes the header; without it, by its file name. */
    readonly include?: string
    /** The structs, constants and names of pointers to read, where `*` ends a beginning; without it, all declarations. */
    readonly only?: readonly string[]
  }[]
  /** The macro that begins the declaration of an exported function. */
  readonly exportMacro: string
  /** The TypeScript table of functions. Each belongs to the shared target whose `exports` matches it most exactly. */
  readonly functions: string
  /** The TypeScript tables of struct layouts and constants. */
  readonly layouts: string
  /** The C file that fails to compile if the tables of layouts and constants are wrong. */
  readonly proof: string
}
