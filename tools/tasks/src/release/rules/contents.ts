import { posix } from 'node:path'

import { isAbsolute, sourcePath, type SourceMap } from '../finish-package.ts'
import type { ReleasePackage } from '../release-package.ts'
import type { ReleaseContext } from './context.ts'

/** Returns a sentence for each source map that repeats a source of the package, or has a source that nobody can read. */
export function findRepeatedText({ files }: ReleasePackage): string[] {
  const maps = [...files].filter(([path]) => path.endsWith('.map'))
  return maps.flatMap(([path, { bytes }]) => {
    const { sources = [], sourcesContent = [] } = JSON.parse(bytes.toString()) as SourceMap
    const hasText = (i: number): boolean => typeof sourcesContent[i] === 'string'
    const twice = sources.filter((source, i) => files.has(sourcePath(path, source)) && hasText(i))
    const lost = sources.filter((source, i) => !files.has(sourcePath(path, source)) && !hasText(i))
    return [
      ...(twice.length === 0 ? [] : [`${path} must not repeat files of the package, got ${twice.join(', ')}`]),
      ...(lost.length === 0 ? [] : [`${path} must be a map of files of the package, got ${lost.join(', ')}`]),
    ]
  })
}

/** The files that every package has. */
const documents = ['package.json', 'README.md', 'LICENSE', 'NOTICE']

/** Returns a sentence for each file that is missing, or is for tests. */
export function findMisplacedFiles({ files }: ReleasePackage, { platform }: ReleaseContext): string[] {
  const wanted = [...documents, platform === undefined ? 'dist/index.js' : 'lib/SHA256SUMS.json']
  const missing = wanted.filter((path) => !files.has(path))
  const unwanted = [...files.keys()]
    // A template of a package has a test, which the package is not tested with.
    .filter((path) => !path.startsWith('templates/'))
    .filter((path) => /(^|\/)(test|bench|reports|node_modules|\.turbo)\/|tsbuildinfo$/.test(path))
  return [
    ...(missing.length === 0 ? [] : [`the package must contain ${missing.join(', ')}`]),
    ...(unwanted.length === 0 ? [] : [`the package must not contain ${unwanted.join(', ')}`]),
  ]
}

/** Returns a sentence for links of the README to files that the package does not have. */
export function findLostLinks({ files }: ReleasePackage): string[] {
  const readme = files.get('README.md')?.bytes.toString() ?? ''
  // Code shows text that looks like links.
  const prose = readme.replaceAll(/^(`{3,}).*?^\1/gms, '').replaceAll(/`[^`\n]*`/g, '')
  const lost = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)/g), ...prose.matchAll(/^\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm)]
    .map(([, target]) => target!)
    .filter((target) => !isAbsolute(target) && !files.has(posix.normalize(target.replace(/[?#].*$/, ''))))
  return lost.length === 0
    ? []
    : [`links of README.md must be absolute or to files of the package, got ${lost.join(', ')}`]
}

/** Returns a sentence if the README says that the package cannot be installed. */
export function findStaleReadme({ files }: ReleasePackage): string[] {
  const found = /\bnot (?:on npm|published) yet\b/.exec(files.get('README.md')?.bytes.toString() ?? '')
  return found === null ? [] : [`README.md must be right once the package is published, got "${found[0]}"`]
}

/** The greatest sizes of the unpacked packages in bytes: what they had, with room for a fifth more. */
const limits: Readonly<Record<string, number>> = {
  tenon: 2_500_000,
  '@tenon/nnapi': 1_600_000,
  '@tenon/core': 1_900_000,
  '@tenon/custom-call': 1_300_000,
  '@tenon/packed-func': 1_100_000,
  '@tenon/serve': 1_300_000,
}

const defaultLimit = 900_000

/** The libraries of a platform, which every installation has. */
const platformLimit = 700_000

/** Returns a sentence if a package is larger than its limit. */
export function findSize({ name, files }: ReleasePackage, { platform }: ReleaseContext): string[] {
  const limit = platform === undefined ? (limits[name] ?? defaultLimit) : platformLimit
  const byteSize = [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
  return byteSize <= limit ? [] : [`the unpacked package must have at most ${limit} bytes, got ${byteSize}`]
}
