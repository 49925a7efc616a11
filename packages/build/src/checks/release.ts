import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

import { BinaryFormatError, type BinaryInfo, readBinary } from '@tenon/binary'

import { matches } from '../names.ts'
import type { Platform } from '../platform.ts'
import { allowedNames } from './allowed.ts'
import { findOtherMachine } from './library.ts'

/** What the files of a platform package are checked against. */
export interface ReleaseRules {
  readonly platform: Platform
  /** The names of all files of the package, on which a file may depend. */
  readonly files: readonly string[]
  /** Further libraries that a file may need. Names may end in `*`. */
  readonly libraries?: readonly string[]
  /** The directories in which the file may have been built. Their paths must not be in the file. */
  readonly builtIn?: string | readonly string[]
  /** The oldest glibc on which a file must run. By default 2.28, that of Node.js. */
  readonly oldestGlibc?: string | undefined
}

/** The oldest versions on which a released file must run. */
const nodeGlibc = '2.28'
const oldestMacos = '11.0'

/**
 * Returns a sentence for each reason why a built library, addon or program must not be published for a platform: another format or machine,
 * libraries that users may lack, a newer system, symbols for debuggers, or paths of the machine that built it.
 *
 * @example
 * const rules = { platform: hostPlatform, files: [] }
 * findReleaseProblems(process.execPath, { ...rules, builtIn: '/' }).includes('it must not contain the path / of its build') // true
 */
export function findReleaseProblems(path: string, rules: ReleaseRules): string[] {
  try {
    return findBinaryProblems(path, readBinary(path), rules)
  } catch (error) {
    if (!(error instanceof BinaryFormatError)) throw error
    return [String(error.details['reason'])]
  }
}

function findBinaryProblems(path: string, info: BinaryInfo, rules: ReleaseRules): string[] {
  const { platform, builtIn = [] } = rules
  const problems = [...findOtherMachine(info, platform), ...findLibraries(info, rules), ...findVersions(info, rules)]
  const directories = [...info.rpath, ...info.runpath].filter((one) => !/^(\$ORIGIN|@loader_path)(\/|$)/.test(one))
  if (directories.length > 0)
    problems.push(`it must search for libraries only beside itself, got ${directories.join(', ')}`)
  if (info.stripped !== true) problems.push('it must not contain symbols for debuggers: strip it')
  if (info.format === 'mach-o' && info.arch === 'arm64' && info.signed !== true)
    problems.push('it must have a code signature, which macOS requires on arm64')
  for (const directory of [builtIn].flat().filter((one) => readFileSync(path).includes(one)))
    problems.push(`it must not contain the path ${directory} of its build`)
  return problems
}

function findLibraries({ needed }: BinaryInfo, { platform, files, libraries = [] }: ReleaseRules): string[] {
  const { libraries: system, cxxLibraries } = allowedNames(platform)
  const allowed = [...system.filter((name) => name !== 'msvcrt.dll'), ...cxxLibraries, ...libraries]
  const unknown = needed.filter(
    (name) => !allowed.some((pattern) => matches(pattern, name)) && !files.includes(basename(name)),
  )
  if (unknown.includes('msvcrt.dll'))
    return [`it must use ucrtbase.dll, the C library of today's Windows, got ${unknown.join(', ')}`]
  return unknown.length === 0 ? [] : [`it must not depend on libraries that may be absent, got ${unknown.join(', ')}`]
}

function findVersions({ minimumGlibc, minimumMacos }: BinaryInfo, rules: ReleaseRules): string[] {
  const { name, os, libc } = rules.platform
  const oldestGlibc = rules.oldestGlibc ?? nodeGlibc
  const problems: string[] = []
  if (minimumGlibc !== undefined && (libc === 'musl' || isNewer(minimumGlibc, oldestGlibc)))
    problems.push(
      libc === 'musl'
        ? `it must not use symbols of glibc on ${name}, got GLIBC_${minimumGlibc}`
        : `it must run with glibc ${oldestGlibc}, but needs GLIBC_${minimumGlibc}`,
    )
  if (os === 'darwin' && (minimumMacos === undefined || isNewer(minimumMacos, oldestMacos)))
    problems.push(`it must run on macOS ${oldestMacos}, but needs ${minimumMacos ?? 'an unknown version'}`)
  return problems
}

function isNewer(version: string, other: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [otherMajor = 0, otherMinor = 0] = other.split('.').map(Number)
  return major > otherMajor || (major === otherMajor && minor > otherMinor)
}
