import type { Topics } from './checks/topics.ts'

/**
 * A way to compile a library or a program: `release` is published, `debug` is for debuggers, `fast-math` is for kernels that do
 * not keep to IEEE 754, `asan` finds memory errors, `tsan` finds data races, `fuzz` is `asan` with coverage for the fuzz driver, and
 * `libfuzzer` with coverage for clang's driver.
 */
export type Variant = 'release' | 'debug' | 'fast-math' | 'asan' | 'tsan' | 'fuzz' | 'libfuzzer'

/** The common part of native targets. Paths are relative to the directory of the package and use `/`. */
interface TargetBase {
  /** Unique in the package, and by default the name of the artifact without prefix and extension: `tenon` for `libtenon.so`. */
  readonly name: string
  /**
   * The source files as globs. The extension determines the language: `.c` is C11, `.cc` is C++17, `.cu` is CUDA, and `.S` is assembly for the
   * C preprocessor, in the syntax of GNU. Of `{posix|win32}` and `{sysv_x64|aapcs64|win64}`, the word for the system and
   * processor of the compiler is taken. A glob that matches no file is an error.
   */
  readonly sources: readonly string[]
  /** The directories for `#include`. */
  readonly includes?: readonly string[]
  /** The macros. Values are not quoted, so strings need their own quotes. */
  readonly defines?: Readonly<Record<string, string>>
  /** The system libraries by `-l` name. Those that are part of the C library on Windows are omitted there. */
  readonly libraries?: readonly string[]
  /** The shared targets of the same package to link with. At run time they are beside the artifact. */
  readonly uses?: readonly string[]
  /** Further compiler flags for every source. */
  readonly flags?: readonly string[]
  /** The architectures of GPUs for `.cu` sources, such as `sm_90` and `compute_75`. By default those of this machine's GPUs. */
  readonly cuda?: { readonly architectures: readonly string[] }
  /** Whether a build without the compiler for a source leaves the target out. */
  readonly optional?: boolean
  /**
   * Links zig's C++ runtime into a library for another platform, for sources that use containers, streams or `std::string`. Then no
   * C++ exception or object may cross the border of the library. By default the library uses the C++ runtime of the process.
   */
  readonly cxxRuntime?: 'static'
  /** The systems on which the target is built. By default all. */
  readonly systems?: readonly NodeJS.Platform[]
  /** The only C library of Linux with which the target is built. By default all. */
  readonly libc?: 'gnu' | 'musl'
}

/** The common part of what a package ships. Names in the lists may end in `*`. */
interface ShippedTarget extends TargetBase {
  /** The symbols that a release may import from the system and from what it `uses`, without version. */
  readonly imports: readonly string[]
  /** Further imports on systems whose C library has other names. */
  readonly systemImports?: Partial<Readonly<Record<'darwin' | 'win32', readonly string[]>>>
  /** Whether it is for tests of the package, and not part of the platform packages. */
  readonly fixture?: boolean
}

/** A shared library. */
export interface SharedTarget extends ShippedTarget {
  readonly kind: 'shared'
  /** The symbols that stay undefined, because the process that loads the library provides them. */
  readonly unresolved?: readonly string[]
  /** The symbols that it may export. Those without `*` are required. */
  readonly exports?: readonly string[]
  /** The name by which loaders know the library, if that is not the name of its file. A target that `uses` it would not find it. */
  readonly soname?: Partial<Readonly<Record<'darwin' | 'linux', string>>>
  /** The version script of a library for Linux: a path as in `sources`. */
  readonly versionScript?: string
}

/**
 * A Node-API module. It may leave `napi_*` and `uv_*` undefined, which Node.js provides, and exports only what Node.js looks up. On
 * Windows it looks `napi_*` up when it is loaded, so that it works in a program with another name than `node.exe`. The package needs
 * node-api-headers, whose headers are in `node_modules/node-api-headers/include`.
 */
export interface AddonTarget extends ShippedTarget {
  readonly kind: 'addon'
  /** By default `NAME.node`. */
  readonly fileName?: string
}

/** A program that a package ships beside its libraries, which it finds there. */
export interface ExecutableTarget extends ShippedTarget {
  readonly kind: 'executable'
  /** The symbols that it exports for the libraries that it loads. Those without `*` are required. */
  readonly exports?: readonly string[]
}

/**
 * A program for development. A `test` prints a line for each of its tests (see `tenon-test`). A `fuzz` target defines
 * LLVMFuzzerTestOneInput() and gets a driver, which takes `--seconds N --corpus DIR --seeds DIR`, or files to run.
 */
export interface ProgramTarget extends TargetBase {
  readonly kind: 'test' | 'fuzz'
}

/** One row of a package's target table. */
export type NativeTarget = SharedTarget | AddonTarget | ExecutableTarget | ProgramTarget

/** Whether a process loads the artifact. */
export function isLoadable(target: NativeTarget): target is SharedTarget | AddonTarget {
  return target.kind === 'shared' || target.kind === 'addon'
}

/** Whether the artifact is a part of the platform packages unless it is a fixture. */
export function isShipped(target: NativeTarget): target is SharedTarget | AddonTarget | ExecutableTarget {
  return isLoadable(target) || target.kind === 'executable'
}

/** The default export of a package's `native.targets.ts`. */
export interface NativePackage {
  readonly targets: readonly NativeTarget[]
  /** Whether a library is refused whose files depend on each other in a circle, headers included (on Linux). */
  readonly acyclic?: boolean
  /** The topics of the sources, which do not include each other's private headers, and use each other in one direction. */
  readonly topics?: Topics
  /** The directory of the platform packages, which `tenon-build --package` fills. */
  readonly platformPackages?: string
  /** A status table in C, and the TypeScript file that is generated from it. */
  readonly statusTable?: { readonly source: string; readonly output: string }
  /** Tables that `@tenon/bind` renders, which the package must have as a development dependency. */
  readonly abi?: AbiTables
}

/** The headers of a package's libraries, and the files that are generated from them. Paths as in the targets. */
export interface AbiTables {
  /** The headers, each after those that it uses. */
  readonly headers: readonly {
    readonly source: string
    /** The name for `#include`, by default the file name. */
    readonly include?: string
    /** The structs, constants and names of pointers to read, by name or by prefix with `*`. By default all declarations. */
    readonly only?: readonly string[]
  }[]
  /** The macro that begins the line which declares an exported function. */
  readonly exportMacro: string
  /** The TypeScript table of functions. Each belongs to the shared target whose `exports` matches it most exactly. */
  readonly functions: string
  /** The TypeScript tables of struct layouts and constants. */
  readonly layouts: string
  /** The TypeScript table of the members of structs, for libraries that describe C to JavaScript. */
  readonly structs?: string
  /** The C file that fails to compile if the tables of layouts and constants are wrong. */
  readonly proof: string
}
