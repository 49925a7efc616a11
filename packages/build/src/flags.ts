import type { Language } from './compiler.ts'
import type { NativeTarget, Variant } from './targets.ts'

const warnings = ['-Wall', '-Wextra', '-Werror']
const sanitizers = '-fsanitize=address,undefined'
const threadSanitizer = '-fsanitize=thread'
const sanitized = ['-O1', '-g', sanitizers, '-fno-sanitize-recover=undefined', '-fno-omit-frame-pointer']

/** How each variant is compiled, and what its programs are linked with. */
const variants: Readonly<Record<Variant, { compile: readonly string[]; link: readonly string[] }>> = {
  release: { compile: ['-O2', '-g1'], link: [] },
  debug: { compile: ['-O0', '-g'], link: [] },
  asan: { compile: sanitized, link: [sanitizers] },
  tsan: { compile: ['-O1', '-g', threadSanitizer, '-fno-omit-frame-pointer'], link: [threadSanitizer] },
  // The libraries report their coverage to functions of the program, which it has to export.
  fuzz: { compile: [...sanitized, '-fsanitize-coverage=trace-pc,trace-cmp'], link: [sanitizers, '-rdynamic'] },
  libfuzzer: { compile: [...sanitized, '-fsanitize=fuzzer-no-link'], link: ['-fsanitize=fuzzer,address,undefined'] },
}

/** Whether a variant leaves symbols of the sanitizers to the process. */
function isSanitized(variant: Variant): boolean {
  return variants[variant].link.length > 0
}

/** The flags to compile one source of a target, all but input and output. */
export function compileFlags(target: NativeTarget, language: Language, variant: Variant, version: string): string[] {
  const defines = { TN_VERSION: `"${version}"`, ...target.defines }
  return [
    ...languageFlags(language),
    ...variants[variant].compile,
    ...(process.platform === 'win32' ? [] : ['-fPIC']),
    '-fvisibility=hidden',
    // A kernel's C++ exception passes through frames of the core on its way to the guard.
    '-fexceptions',
    ...warnings,
    ...(target.includes ?? []).map((directory) => `-I${directory}`),
    ...Object.entries(defines).map(([name, value]) => `-D${name}=${value}`),
    ...(target.flags ?? []),
  ]
}

/** The flags to compile the fuzz driver, which must not report coverage of its own. */
export const driverFlags: readonly string[] = [...languageFlags('c'), '-O2', '-g1', ...warnings]

function languageFlags(language: Language): string[] {
  // Strict C11 makes the system's headers hide what isn't ISO C; the core needs POSIX and Linux calls.
  return language === 'c' ? ['-std=c11', '-D_GNU_SOURCE'] : ['-std=c++17']
}

/** What a Windows program has without naming it. */
const inWindowsRuntime = new Set(['dl', 'm', 'pthread'])

/** The flags to link a target whose objects and used libraries are given, all but the output. */
export function linkFlags(target: NativeTarget, variant: Variant, used: readonly string[]): string[] {
  // libFuzzer brings a main function, which a library must not have.
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
    // There is no nodelete here: libraries are opened with RTLD_NODELETE instead.
    const name = `-Wl,-install_name,@rpath/lib${target.name}.dylib`
    const open = isSanitized(variant) ? ['-Wl,-undefined,dynamic_lookup'] : []
    return ['-dynamiclib', rpath, name, ...open, ...unresolved.map((symbol) => `-Wl,-U,_${symbol}`)]
  }
  const hardened = ['-Wl,-z,now', '-Wl,-z,relro', '-Wl,-rpath,$ORIGIN']
  if (!shared) return hardened
  // The sanitizer's own symbols come from the process, so only the other variants can be complete.
  const complete = unresolved.length === 0 && !isSanitized(variant) ? ['-Wl,--no-undefined'] : []
  // A library with a thread, loaded in a worker only, crashes when the worker ends if it is unmapped: nodelete.
  return ['-shared', '-Wl,-z,nodelete', ...hardened, ...complete, `-Wl,-soname,lib${target.name}.so`]
}
