import type { Language } from './compiler.ts'
import type { NativeTarget, Variant } from './targets.ts'
import { ToolError } from './tool-error.ts'

const warnings = ['-Wall', '-Wextra', '-Werror']
const sanitizers = '-fsanitize=address,undefined'
const threadSanitizer = '-fsanitize=thread'
const sanitized = ['-O1', '-g', sanitizers, '-fno-sanitize-recover=undefined', '-fno-omit-frame-pointer']

/** The flags of each variant, to compile sources and to link programs. */
const variants: Readonly<Record<Variant, { compile: readonly string[]; link: readonly string[] }>> = {
  release: { compile: ['-O2', '-g1'], link: [] },
  debug: { compile: ['-O0', '-g'], link: [] },
  asan: { compile: sanitized, link: [sanitizers] },
  tsan: { compile: ['-O1', '-g', threadSanitizer, '-fno-omit-frame-pointer'], link: [threadSanitizer] },
  // The libraries report their coverage to functions of the program, which must export them.
  fuzz: { compile: [...sanitized, '-fsanitize-coverage=trace-pc,trace-cmp'], link: [sanitizers, '-rdynamic'] },
  libfuzzer: { compile: [...sanitized, '-fsanitize=fuzzer-no-link'], link: ['-fsanitize=fuzzer,address,undefined'] },
}

/** No name means `release`. @throws {ToolError} for an unknown name. */
export function parseVariant(word: string | undefined): Variant {
  const name = word || 'release'
  if (Object.hasOwn(variants, name)) return name as Variant
  throw new ToolError(`the variant must be one of ${Object.keys(variants).join(', ')}, got ${name}`)
}

/** Whether the process provides the symbols of the sanitizers. */
function isSanitized(variant: Variant): boolean {
  return variants[variant].link.length > 0
}

export function compileFlags(target: NativeTarget, language: Language, variant: Variant, version: string): string[] {
  const defines = { TN_VERSION: `"${version}"`, ...target.defines }
  return [
    ...languageFlags(language),
    ...variants[variant].compile,
    ...(process.platform === 'win32' ? [] : ['-fPIC']),
    '-fvisibility=hidden',
    // The C++ exception of a kernel passes through frames of the core to the guard.
    '-fexceptions',
    ...warnings,
    ...(target.includes ?? []).map((directory) => `-I${directory}`),
    ...Object.entries(defines).map(([name, value]) => `-D${name}=${value}`),
    ...(target.flags ?? []),
  ]
}

/** The flags that compile the fuzz driver, which must not report its own coverage. */
export const driverFlags: readonly string[] = [...languageFlags('c'), '-O2', '-g1', ...warnings]

function languageFlags(language: Language): string[] {
  // In strict C11, the headers of the system hide the POSIX and Linux functions that the core needs.
  return language === 'c' ? ['-std=c11', '-D_GNU_SOURCE'] : ['-std=c++17']
}

/** The libraries that are part of the C library on Windows. */
const inWindowsRuntime = new Set(['dl', 'm', 'pthread'])

export function linkFlags(target: NativeTarget, variant: Variant, used: readonly string[]): string[] {
  // libFuzzer defines a main function, which a library must not contain.
  const ofLibraries = variant === 'tsan' ? threadSanitizer : sanitizers
  const sanitize = target.kind === 'shared' && isSanitized(variant) ? [ofLibraries] : variants[variant].link
  const libraries = (target.libraries ?? [])
    .filter((name) => process.platform !== 'win32' || !inWindowsRuntime.has(name))
    .map((name) => `-l${name}`)
  return [...sanitize, ...platformLinkFlags(target, variant), ...used, ...libraries]
}

function platformLinkFlags(target: NativeTarget, variant: Variant): string[] {
  const shared = target.kind === 'shared'
  const unresolved = shared ? (target.unresolved ?? []) : []
  if (process.platform === 'win32') return [...(shared ? ['-shared'] : []), '-static-libgcc', '-static-libstdc++']
  if (process.platform === 'darwin') {
    const rpath = '-Wl,-rpath,@loader_path'
    if (!shared) return [rpath]
    // macOS does not have nodelete. Libraries are opened with RTLD_NODELETE instead.
    const name = `-Wl,-install_name,@rpath/lib${target.name}.dylib`
    const open = isSanitized(variant) ? ['-Wl,-undefined,dynamic_lookup'] : []
    return ['-dynamiclib', rpath, name, ...open, ...unresolved.map((symbol) => `-Wl,-U,_${symbol}`)]
  }
  const hardened = ['-Wl,-z,now', '-Wl,-z,relro', '-Wl,-rpath,$ORIGIN']
  if (!shared) return hardened
  // The process provides the symbols of the sanitizer, so only the other variants can be complete.
  const complete = unresolved.length === 0 && !isSanitized(variant) ? ['-Wl,--no-undefined'] : []
  // Without nodelete, a library with a thread that only a worker has loaded would crash when the worker ends.
  return ['-shared', '-Wl,-z,nodelete', ...hardened, ...complete, `-Wl,-soname,lib${target.name}.so`]
}
