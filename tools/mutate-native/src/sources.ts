import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { hostPlatform } from '@tenon/build'
import { findSources, hashOf, isShipped, type LoadedPackage } from '@tenon/build/internal'

/** Returns the C files of what a package ships for this system, and the headers beside them. */
export function listSources(pkg: LoadedPackage): string[] {
  const sources = pkg.native.targets
    .filter((target) => isShipped(target) && !target.fixture)
    .flatMap((target) => findSources(pkg.directory, target, hostPlatform))
    .filter((file) => file.endsWith('.c'))
  const folders = [...new Set(sources.map((file) => dirname(file)))]
  const headers = folders.flatMap((folder) => globSync(`${folder}/*.h`, { cwd: pkg.directory }))
  return [...new Set([...sources, ...headers])].toSorted()
}

/** The text of a file of a package. */
export function readSource({ directory }: LoadedPackage, file: string): string {
  return readFileSync(join(directory, file), 'utf8')
}

/** Where the sources and tests of a package find what they include, besides the directory of the file itself. */
const includeDirectories = ['csrc/include', 'csrc/test', 'csrc', 'include']

/** Returns hashes of files of a package and of what they include, so that results know that neither has changed. */
export function hashWithIncludes(pkg: LoadedPackage): (file: string) => string {
  const hashes = new Map<string, string>()
  return (file) => {
    const known = hashes.get(file) ?? hashOf(closureOf(pkg, file).map((path) => readSource(pkg, path)))
    hashes.set(file, known)
    return known
  }
}

/** A file and all that it includes from the package, in the order in which they are found. */
function closureOf(pkg: LoadedPackage, file: string): string[] {
  const found = new Set([file])
  for (const path of found) {
    for (const [, name] of readSource(pkg, path).matchAll(/^\s*#\s*include\s*["<]([^">]+)[">]/gm)) {
      const candidates = [dirname(path), ...includeDirectories].map((directory) => normalize(join(directory, name!)))
      const included = candidates.find((candidate) => existsSync(join(pkg.directory, candidate)))
      if (included !== undefined) found.add(included)
    }
  }
  return [...found]
}
