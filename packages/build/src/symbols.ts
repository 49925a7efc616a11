import { matches } from './names.ts'
import { ToolError } from './tool-error.ts'
import { runCommand } from './run-command.ts'
import type { SharedTarget } from './targets.ts'

/** What a library asks of others and offers, by plain names. */
export interface LibrarySymbols {
  readonly imports: readonly string[]
  readonly exports: readonly string[]
  /** The files that the loader must find first. */
  readonly needed: readonly string[]
}

/** What compilers and start files refer to on their own account. */
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

/** The C++ runtime: for targets with C++ sources alone. */
const cxxLibraries = ['libstdc++.so.6', 'libgcc_s.so.1']

/**
 * Compares a library with what its target allows, and says in a sentence each what is wrong: an import or an export that
 * is not listed, an export that is missing, a library that is needed and may not be.
 */
export function findViolations(symbols: LibrarySymbols, target: SharedTarget, hasCxx: boolean): string[] {
  const importable = [...toolchainSymbols, ...target.imports, ...(target.unresolved ?? [])]
  const loadable = [
    ...systemLibraries,
    ...(hasCxx ? cxxLibraries : []),
    ...(target.uses ?? []).map((name) => `lib${name}.so`),
  ]
  const exportable = target.exports ?? ['*']
  const missing = exportable.filter((name) => !name.endsWith('*') && !symbols.exports.includes(name))
  const findings: [string[], (names: string) => string][] = [
    [symbols.imports.filter(excludedBy(importable)), (names) => `it imports what "imports" does not list: ${names}`],
    [symbols.exports.filter(excludedBy(exportable)), (names) => `it exports what "exports" does not list: ${names}`],
    [missing, (names) => `it does not export what "exports" lists: ${names}`],
    [symbols.needed.filter(excludedBy(loadable)), (names) => `it needs libraries that may be absent: ${names}`],
  ]
  return findings.filter(([names]) => names.length > 0).map(([names, sentence]) => sentence(names.join(', ')))
}

const excludedBy =
  (patterns: readonly string[]) =>
  (name: string): boolean =>
    !patterns.some((pattern) => matches(pattern, name))

/** Reads what an ELF library imports, exports and needs, with the tools that come with every Linux compiler. */
export async function readSymbols(path: string): Promise<LibrarySymbols> {
  const [imports, exports, dynamic] = await Promise.all([
    runBinutil('nm', ['-D', '-P', '--undefined-only', path]),
    runBinutil('nm', ['-D', '-P', '--defined-only', path]),
    runBinutil('readelf', ['-d', '-W', path]),
  ])
  return {
    imports: unique(symbolNames(imports).map(plainName)),
    exports: unique(symbolNames(exports)),
    needed: [...dynamic.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((match) => match[1]!),
  }
}

/**
 * Checks a freshly linked library. Only ELF systems tell where a symbol comes from; elsewhere nothing is checked.
 *
 * @throws {ToolError} that names every symbol and library which is not allowed.
 */
export async function checkSymbols(path: string, target: SharedTarget, hasCxx: boolean): Promise<void> {
  if (process.platform !== 'linux') return
  const violations = findViolations(await readSymbols(path), target, hasCxx)
  if (violations.length > 0) {
    throw new ToolError(`lib${target.name} breaks its entry in native.targets.ts:\n  ${violations.join('\n  ')}`)
  }
}

function symbolNames(listing: string): string[] {
  return listing
    .split('\n')
    .map((line) => line.split(' ')[0]!.split('@')[0]!)
    .filter((name) => name !== '')
}

/** The name as the source has it: compilers and systems put fortified, versioned and simpler functions in its place. */
function plainName(name: string): string {
  if (name === 'bcmp') return 'memcmp'
  return name.replace(/^__(\w+)_chk$/, '$1').replace(/^__isoc(?:99|23)_/, '')
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted()
}

async function runBinutil(command: string, args: readonly string[]): Promise<string> {
  const result = await runCommand(command, args, { env: { ...process.env, LC_ALL: 'C' } })
  if (result.code !== 0) throw new ToolError(`${command} ${args.join(' ')} failed:\n${result.stderr}`)
  return result.stdout
}
