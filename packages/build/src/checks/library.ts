import { type BinaryInfo, readBinary } from '@tenon/binary'

import { matches } from '../names.ts'
import { artifactName, type Platform, sharedLibraryName } from '../platform.ts'
import type { AddonTarget, ExecutableTarget, SharedTarget } from '../targets.ts'
import { ToolError } from '../tool-error.ts'
import { allowedNames } from './allowed.ts'

/** What a built file says of itself. */
export interface LibrarySymbols {
  readonly imports: readonly string[]
  readonly exports: readonly string[]
  readonly needed: readonly string[]
}

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
export function findViolations(
  symbols: LibrarySymbols,
  target: ShippedTarget,
  { platform, hasCxx }: { readonly platform: Platform; readonly hasCxx: boolean },
): string[] {
  const { unresolved = [], exports = ['*'] } = rulesOf(target)
  const { symbols: toolchainSymbols, exports: toolchainExports, libraries, cxxLibraries } = allowedNames(platform)
  const ofSystem = platform.os === 'linux' ? [] : (target.systemImports?.[platform.os] ?? [])
  const importable = [...toolchainSymbols, ...target.imports, ...ofSystem, ...unresolved]
  const loadable = [
    ...libraries,
    ...(hasCxx ? cxxLibraries : []),
    ...(target.uses ?? []).flatMap((name) => [sharedLibraryName(name, platform), `@rpath/lib${name}.dylib`]),
  ]
  const missing = exports.filter((name) => !name.endsWith('*') && !symbols.exports.includes(name))
  const listed = (target.libraries ?? []).map((name) => fileOf(name, platform))
  const findings: [sentence: string, names: string[]][] = [
    ['its imports must be listed in "imports", got', symbols.imports.filter(excludedBy(importable))],
    [
      'its exports must be listed in "exports", got',
      symbols.exports.filter(excludedBy([...exports, ...toolchainExports])),
    ],
    ['it must export the symbols in "exports", but lacks', missing],
    [
      'it must not depend on libraries that may be absent, got',
      symbols.needed.filter(excludedBy(loadable)).filter((name) => !listed.some((pattern) => pattern.test(name))),
    ],
  ]
  return findings.filter(([, names]) => names.length > 0).map(([sentence, names]) => `${sentence} ${names.join(', ')}`)
}

/** The file of a library that a target lists by its `-l` name. */
function fileOf(name: string, { os }: Platform): RegExp {
  const escaped = name.replaceAll(/[^\w]/g, String.raw`\$&`)
  if (os === 'win32') return new RegExp(`^(lib)?${escaped}([-.\\d]*)\\.dll$`, 'i')
  return os === 'darwin' ? new RegExp(`(^|/)lib${escaped}([.\\d]*)\\.dylib$`) : new RegExp(`^lib${escaped}\\.so(\\.|$)`)
}

const excludedBy =
  (patterns: readonly string[]) =>
  (name: string): boolean =>
    !patterns.some((pattern) => matches(pattern, name))

/** Returns the symbols and dependencies of a file, with the names that the source has. */
export function librarySymbols(info: BinaryInfo): LibrarySymbols {
  return {
    imports: unique(info.imports.map(({ name }) => plainName(name))),
    // zig links functions for compilers into files for macOS, where the first library that has such a function provides it for all.
    exports: unique(info.exports.filter(({ weak }) => !(weak && info.format === 'mach-o')).map(({ name }) => name)),
    needed: info.needed,
  }
}

const formats: Readonly<Record<Platform['os'], BinaryInfo['format']>> = {
  linux: 'elf',
  darwin: 'mach-o',
  win32: 'pe',
}

/** Returns a sentence if a file is for another platform. */
export function findOtherMachine(info: BinaryInfo, { name, os, cpu, libc }: Platform): string[] {
  if (info.format !== formats[os] || info.arch !== cpu)
    return [`its machine must be that of ${name}: ${formats[os]} for ${cpu}, got ${info.format} for ${info.arch}`]
  const expected = libc === 'gnu' ? 'glibc' : libc
  if (info.libc === undefined || info.libc === expected) return []
  return [`its C library must be that of ${name}, got ${info.libc}`]
}

/** @throws {ToolError} that names every symbol and library that is not allowed, and a machine other than that of the platform */
export function checkLibrary(
  path: string,
  target: ShippedTarget,
  context: { readonly platform: Platform; readonly hasCxx: boolean },
): void {
  const info = readBinary(path)
  const violations = [
    ...findOtherMachine(info, context.platform),
    ...findViolations(librarySymbols(info), target, context),
  ]
  if (violations.length > 0) {
    throw new ToolError(
      `${artifactName(target, context.platform)} violates its entry in the table of targets:\n  ${violations.join('\n  ')}`,
    )
  }
}

/** Returns the name in the source, for which compilers and systems use fortified, versioned or simpler functions. */
function plainName(name: string): string {
  if (name === 'bcmp') return 'memcmp'
  return name
    .replace(/^__(\w+)_chk$/, '$1')
    .replace(/^__isoc(?:99|23)_/, '')
    .replace(/\$\w+$/, '')
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted()
}
