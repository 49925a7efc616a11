import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

/** How results know that what they depend on has not changed. */
export function hashesOf(pkg: LoadedPackage): Record<'hashOfSource' | 'hashOfTest', (file: string) => string> {
  const hashed = new Map<string, string>()
  const hash = (file: string): string => {
    const known = hashed.get(file) ?? hashOf([readSource(pkg, file)])
    hashed.set(file, known)
    return known
  }
  const headersIn = (pattern: string): string => hashOf(globSync(pattern, { cwd: pkg.directory }).toSorted().map(hash))
  const headers = headersIn('{csrc/!(test|fuzz|fixture)/**,include/**}/*.{h,def}')
  const ofTests = headersIn('csrc/test/**/*.h')
  return {
    hashOfSource: (file) => hashOf([headers, hash(file)]),
    hashOfTest: (file) => hashOf([ofTests, hash(file)]),
  }
}
