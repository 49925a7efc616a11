import type { Language } from './compiler.ts'
import { architectureFlags, nvccFlags } from './cuda.ts'
import type { LoadedPackage } from './load-package.ts'
import { importedNodeSymbols } from './node-symbols.ts'
import type { Platform } from './platform.ts'
import type { Toolchain } from './toolchain.ts'
import { isLoadable, type NativeTarget, type Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

const warnings = ['-Wall', '-Wextra', '-Werror']
const sanitizers = '-fsanitize=address,undefined'
const threadSanitizer = '-fsanitize=thread'
/** As `-Ofast`, a name that clang no longer likes. Kernels may mention infinity, although it has no meaning then. */
const fastMath = ['-O3', '-ffast-math', '-g1', '-Wno-nan-infinity-disabled']
const sanitized = ['-O1', '-g', sanitizers, '-fno-sanitize-recover=undefined', '-fno-omit-frame-pointer']

/** The flags of each variant, to compile sources and to link programs. */
const variants: Readonly<Record<Variant, { compile: readonly string[]; link: readonly string[] }>> = {
  release: { compile: ['-O2', '-g1'], link: [] },
  debug: { compile: ['-O0', '-g'], link: [] },
  // Linking with this flag sets flush-to-zero when the library is loaded, unless the compiler is a recent one.
  'fast-math': { compile: fastMath, link: ['-ffast-math'] },
  asan: { compile: sanitized, link: [sanitizers] },
  tsan: { compile: ['-O1', '-g', threadSanitizer, '-fno-omit-frame-pointer'], link: [threadSanitizer] },
  // The libraries report their coverage to functions of the program, which must export them.
  fuzz: { compile: [...sanitized, '-fsanitize-coverage=trace-pc,trace-cmp'], link: [sanitizers, '-rdynamic'] },
  libfuzzer: { compile: [...sanitized, '-fsanitize=fuzzer-no-link'], link: ['-fsanitize=fuzzer,address,undefined'] },
}

/** gcc's counters. Threads must not lose each other's counts. */
const counters = ['--coverage', '-fprofile-update=prefer-atomic']

/** Whether the code of a target counts its lines. Fixtures are test code, and some of them break the process on purpose. */
function countsLines(target: NativeTarget, coverage: boolean): boolean {
  return coverage && !('fixture' in target && target.fixture)
}

/** No name means `release`. @throws {ToolError} for an unknown name. */
export function parseVariant(word: string | undefined): Variant {
  const name = word || 'release'
  if (Object.hasOwn(variants, name)) return name as Variant
  throw new ToolError(`the variant must be one of ${Object.keys(variants).join(', ')}, got ${name}`)
}

/** Whether the process provides the symbols of the sanitizers. */
function isSanitized(variant: Variant): boolean {
  return variants[variant].link.some((flag) => flag.startsWith('-fsanitize='))
}

/** What flags depend on, apart from the target. */
interface FlagContext {
  readonly pkg: LoadedPackage
  readonly variant: Variant
  readonly coverage?: boolean
  readonly platform: Platform
  readonly toolchain: Toolchain
  /** The architectures for CUDA sources that do not name any. */
  readonly architectures: readonly string[]
}

export function compileFlags(target: NativeTarget, language: Language, context: FlagContext): string[] {
  const { pkg, variant, coverage = false, platform, toolchain, architectures } = context
  const windows = platform.os === 'win32'
  const defines = { TN_VERSION: `"${pkg.version}"`, ...target.defines }
  const flags = [
    ...languageFlags(language, platform),
    ...(language === 'assembly' ? [] : codeFlags(variant)),
    ...(language !== 'assembly' && countsLines(target, coverage) ? counters : []),
    ...(variant === 'release' && !keepsDebugFile(platform, toolchain.zig) ? ['-g0'] : []),
    ...(language === 'cuda' ? [] : ['-Wextra', '-Werror']),
    // The printf of msvcrt.dll does not know %zu. Headers for kernels declare functions of the core without dllexport.
    ...(windows ? ['-D__USE_MINGW_ANSI_STDIO=1', '-Wno-dll-attribute-on-redeclaration'] : []),
    ...(windows ? [] : ['-fPIC']),
    ...(target.kind === 'addon' && windows ? [importedNodeSymbols] : []),
    ...(target.includes ?? []).map((directory) => `-I${directory}`),
    ...Object.entries(defines).map(([name, value]) => `-D${name}=${value}`),
    ...(target.flags ?? []),
  ]
  if (language !== 'cuda') return flags
  return [...architectureFlags(target.cuda?.architectures ?? architectures), ...nvccFlags(flags)]
}

/** The flags of languages from which the compiler makes code. */
function codeFlags(variant: Variant): string[] {
  // The C++ exception of a kernel passes through frames of the core to the guard, from any instruction.
  const exceptions = ['-fexceptions', '-fasynchronous-unwind-tables']
  return [...variants[variant].compile, '-fvisibility=hidden', ...exceptions, '-Wall']
}

/** In strict C11, the headers of the system hide the POSIX and Linux functions that the core needs. */
const cFlags = ['-std=c11', '-D_GNU_SOURCE']

/** The flags that compile the fuzz driver, which must not report its own coverage. */
export const driverFlags: readonly string[] = [...cFlags, '-O2', '-g1', ...warnings]

function languageFlags(language: Language, { os }: Platform): string[] {
  // Without a note in the source, the linker would make the stack of the whole process executable.
  if (language === 'assembly') return ['-g', ...(os === 'linux' ? ['-Wa,--noexecstack'] : [])]
  return language === 'c' ? cFlags : ['-std=c++17']
}

/** Whether a release also has a file with its debug information. For other systems than Linux, zig puts it elsewhere. */
export function keepsDebugFile({ os }: Platform, zig: boolean): boolean {
  return !zig || os === 'linux'
}

/** The flags that leave symbols for debuggers out of a linked file. */
export function stripFlags({ os }: Platform, zig: boolean): string[] {
  return os === 'darwin' && !zig ? ['-Wl,-S', '-Wl,-x'] : ['-s']
}

/** The libraries that are part of the C library on Windows. */
const inWindowsRuntime = new Set(['dl', 'm', 'pthread'])

export function linkFlags(target: NativeTarget, context: FlagContext, used: readonly string[]): string[] {
  const { variant, coverage = false, platform, toolchain } = context
  // libFuzzer defines a main function, which a library must not contain.
  const ofLibraries = variant === 'tsan' ? threadSanitizer : sanitizers
  const sanitize = isLoadable(target) && isSanitized(variant) ? [ofLibraries] : variants[variant].link
  const libraries = (target.libraries ?? [])
    .filter((name) => platform.os !== 'win32' || !inWindowsRuntime.has(name))
    .map((name) => `-l${name}`)
  // A library must not export the functions of the counters, which a caller of all of its functions would call.
  const count = countsLines(target, coverage) ? ['--coverage', '-Wl,--exclude-libs,libgcov.a'] : []
  return [...sanitize, ...count, ...platformLinkFlags(target, variant, platform, toolchain.zig), ...used, ...libraries]
}

function platformLinkFlags(target: NativeTarget, variant: Variant, { os }: Platform, zig: boolean): string[] {
  const loadable = isLoadable(target)
  const unresolved = target.kind === 'shared' ? (target.unresolved ?? []) : []
  if (os === 'win32')
    return [...(loadable ? ['-shared'] : []), ...(zig ? ['-lunwind'] : ['-static-libgcc', '-static-libstdc++'])]
  if (os === 'darwin') {
    const rpath = '-Wl,-rpath,@loader_path'
    if (!loadable) return [rpath]
    const bundle = zig ? '-dynamiclib' : '-bundle'
    if (target.kind === 'addon') return [bundle, rpath, '-Wl,-undefined,dynamic_lookup']
    // macOS does not have nodelete. Libraries are opened with RTLD_NODELETE instead.
    const own = target.kind === 'shared' ? target.soname?.darwin : undefined
    const name = `-Wl,-install_name,@rpath/${own ?? `lib${target.name}.dylib`}`
    // zig's linker does not know -U.
    const isOpen = isSanitized(variant) || (zig && unresolved.length > 0)
    const open = isOpen ? ['-Wl,-undefined,dynamic_lookup'] : unresolved.map((symbol) => `-Wl,-U,_${symbol}`)
    return ['-dynamiclib', rpath, name, ...open]
  }
  const hardened = ['-Wl,-z,now', '-Wl,-z,relro', '-Wl,-rpath,$ORIGIN']
  if (!loadable) return hardened
  // The process provides the symbols of the sanitizer, so only the other variants can be complete.
  const open = target.kind === 'addon' || unresolved.length > 0 || isSanitized(variant)
  const complete = open ? [] : ['-Wl,--no-undefined']
  const name = target.kind === 'shared' ? [`-Wl,-soname,${target.soname?.linux ?? `lib${target.name}.so`}`] : []
  const script = target.kind === 'shared' ? target.versionScript : undefined
  const versions = script === undefined ? [] : [`-Wl,--version-script=${script}`]
  // The functions of a fixture must not be replaced by functions of the system with the same name.
  const bound = target.fixture ? ['-Wl,-Bsymbolic'] : []
  // Without nodelete, a library with a thread that only a worker has loaded would crash when the worker ends.
  return ['-shared', '-Wl,-z,nodelete', ...hardened, ...complete, ...bound, ...name, ...versions]
}
