import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

import { findPlatform, findReleaseProblems, type PlatformName } from '@tenon/build'

import { root } from '../../lib/root.ts'
import type { ReleasePackage } from '../release-package.ts'
import type { ReleaseContext } from './context.ts'

const digests = 'lib/SHA256SUMS.json'

const documents = new Set(['package.json', 'README.md', 'LICENSE', 'NOTICE', digests])

/** Directories in which machines of CI build. Their paths in a file say that it contains the path of its build. */
const buildDirectories = ['/home/runner/work/', '/Users/runner/work/', 'D:\\a\\', 'D:/a/']

/** Returns a sentence for each file that is missing, unknown, or differs from its digest. */
export function findFiles({ files }: ReleasePackage, { libraries }: ReleaseContext): string[] {
  const wanted = libraries.map((file) => `lib/${file}`)
  const missing = [...wanted, ...documents].filter((path) => !files.has(path))
  const unknown = [...files.keys()].filter((path) => !wanted.includes(path) && !documents.has(path))
  return [
    ...(missing.length === 0 ? [] : [`the package must contain ${missing.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`the package must not contain ${unknown.join(', ')}`]),
    ...findDigests(files, wanted),
    ...wanted
      .filter((path) => path === 'lib/tenon-host' && files.get(path)?.executable === false)
      .map((path) => `${path} must be executable`),
  ]
}

function findDigests(files: ReleasePackage['files'], wanted: readonly string[]): string[] {
  let listed: Readonly<Record<string, unknown>>
  try {
    listed = Object(JSON.parse(files.get(digests)?.bytes.toString() ?? '{}')) as typeof listed
  } catch {
    return [`${digests} must be a JSON object`]
  }
  const unknown = Object.keys(listed).filter((file) => !wanted.includes(`lib/${file}`))
  return [
    ...(unknown.length === 0 ? [] : [`${digests} must not list ${unknown.join(', ')}`]),
    ...wanted.flatMap((path) => {
      const expected = listed[path.slice('lib/'.length)]
      if (expected === undefined) return [`${digests} must have the digest of ${path}`]
      const bytes = files.get(path)?.bytes
      if (bytes === undefined) return []
      const digest = createHash('sha256').update(bytes).digest('hex')
      return digest === expected
        ? []
        : [`${path} must have the digest of ${digests}, ${String(expected)}, got ${digest}`]
    }),
  ]
}

/** Returns a sentence for each reason why a file does not run on the platform of the package, or must not be published. */
export function findLibraryProblems(
  { files }: ReleasePackage,
  { platform, libraries, oldestGlibc }: ReleaseContext,
): string[] {
  const temporary = mkdtempSync(join(tmpdir(), 'tenon-release-'))
  try {
    return libraries.flatMap((file) => {
      const bytes = files.get(`lib/${file}`)?.bytes
      if (bytes === undefined) return []
      const path = join(temporary, basename(file))
      writeFileSync(path, bytes)
      const rules = { platform: findPlatform(platform as PlatformName), files: libraries, builtIn: root, oldestGlibc }
      const built = buildDirectories.filter((directory) => bytes.includes(directory))
      const found = [
        ...findReleaseProblems(path, rules),
        ...built.map((directory) => `it must not contain the path ${directory} of its build`),
      ]
      return found.map((sentence) => `lib/${file}: ${sentence}`)
    })
  } finally {
    rmSync(temporary, { recursive: true })
  }
}
