import { matches } from './names.ts'
import { ToolError } from './tool-error.ts'
import { runCommand } from './run-command.ts'
import { artifactName, hostPlatform } from './platform.ts'
import type { AddonTarget, ExecutableTarget, SharedTarget } from './targets.ts'

export interface LibrarySymbols {
  readonly imports: readonly string[]
  readonly exports: readonly string[]
  readonly needed: readonly string[]
}

/** The symbols that compilers and start files use. */
const toolchainSymbols = [
  '_ITM_deregisterTMCloneTable',
  '_ITM_registerTMCloneTable',
  '__cxa_finalize',
  '__gmon_start__',
  '__getauxval',
  '__stack_chk_fail',
  '__tls_get_addr',
]

/** The parts of the C library, which every process has. */
const systemLibraries = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'ld-linux*']

/** The C++ runtime, for targets with C++ sources. */
const cxxLibraries = ['libstdc++.so.6', 'libgcc_s.so.1']

/** The symbols that start files define, if the linker exports them. */
const programSymbols = ['_IO_stdin_used*', '__libc_csu*', 'main*', 'std*', '_*']

/** The symbols that Node.js provides to an addon, and those that it looks up in one. */
const addonSymbols = {
  unresolved: ['napi_*', 'uv_*'],
  exports: ['napi_register_module_v1', 'node_api_module_get_api_version_v1'],
}

type ShippedTarget = SharedTarget | AddonTarget | ExecutableTarget

/** The symbols that stay undefined, and those that may be exported. */
function rulesOf(target: ShippedTarget): {
  readonly unresolved?: readonly string[]
  readonly exports?: readonly string[]
} {
  if (target.kind === 'addon') return addonSymbols
  // The linker exports what the start files of programs define.
  return target.kind === 'executable' ? { exports: [...programSymbols, ...(target.exports ?? [])] } : target
}

/** Returns a sentence for each import, export and dependency that is not listed, and for each missing export. */
export function findViolations(symbols: LibrarySymbols, target: ShippedTarget, hasCxx: boolean): string[] {
  const { unresolved = [], exports = ['*'] } = rulesOf(target)
  const importable = [...toolchainSymbols, ...target.imports, ...unresolved]
  const loadable = [
    ...systemLibraries,
    ...(hasCxx ? cxxLibraries : []),
    ...(target.uses ?? []).map((name) => `lib${name}.so`),
  ]
  const missing = exports.filter((name) => !name.endsWith('*') && !symbols.exports.includes(name))
  const findings: [sentence: string, names: string[]][] = [
    ['its imports must be listed in "imports", got', symbols.imports.filter(excludedBy(importable))],
    ['its exports must be listed in "exports", got', symbols.exports.filter(excludedBy(exports))],
    ['it must export the symbols in "exports", but lacks', missing],
    ['it must not depend on libraries that may be absent, got', symbols.needed.filter(excludedBy(loadable))],
  ]
  return findings.filter(([, names]) => names.length > 0).map(([sentence, names]) => `${sentence} ${names.join(', ')}`)
}

const excludedBy =
  (patterns: readonly string[]) =>
  (name: string): boolean =>
    !patterns.some((pattern) => matches(pattern, name))

export async function readSymbols(path: string): Promise<LibrarySymbols> {
  const { used, defined } = await listSymbols(path, '-D')
  const dynamic = await runBinutil('readelf', '-d', '-W', path)
  return {
    imports: unique(used.map(plainName)),
    exports: unique(defined),
    needed: [...dynamic.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((match) => match[1]!),
  }
}

/** Runs on Linux only. @throws {ToolError} that names every symbol and library that is not allowed. */
export async function checkSymbols(path: string, target: ShippedTarget, hasCxx: boolean): Promise<void> {
  if (hostPlatform.os !== 'linux') return
  const violations = findViolations(await readSymbols(path), target, hasCxx)
  if (violations.length > 0) {
    throw new ToolError(
      `${artifactName(target)} violates its entry in native.targets.ts:\n  ${violations.join('\n  ')}`,
    )
  }
}

/** Lists the symbols of a file, without versions: `-D` selects the dynamic symbols of a library, `-g` the global ones of an object. */
export async function listSymbols(path: string, which: '-D' | '-g'): Promise<{ used: string[]; defined: string[] }> {
  const listing = await runBinutil('nm', which, '-P', path)
  const [used, defined]: [string[], string[]] = [[], []]
  for (const [, name, type] of listing.matchAll(/^([^ @]+)\S* (\S)/gm)) {
    const list = /[Uvw]/.test(type!) ? used : defined
    list.push(name!)
  }
  return { used, defined }
}

async function runBinutil(command: string, ...args: readonly string[]): Promise<string> {
  const result = await runCommand(command, args, { env: { ...process.env, LC_ALL: 'C' } })
  if (result.code !== 0) throw new ToolError(`${command} ${args.join(' ')} failed:\n${result.stderr}`)
  return result.stdout
}

/** Returns the name in the source, for which compilers and systems use fortified, versioned or simpler functions. */
function plainName(name: string): string {
  if (name === 'bcmp') return 'memcmp'
  return name.replace(/^__(\w+)_chk$/, '$1').replace(/^__isoc(?:99|23)_/, '')
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted()
}
