import { posix } from 'node:path'

import { parseSync } from 'oxc-parser'

import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The most names that the public entries of all packages may export together. */
const LIMIT = 877

/** An entry point, and the number of names that it exports itself. */
export interface EntryNames {
  /** What a program imports, such as `@tenon/scope/linker`. */
  readonly entry: string
  readonly count: number
}

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | { readonly '@tenon/source'?: string }>>
}

/**
 * Counts the names of each public entry point. Names that an entry of `tenon` passes on from an entry of another package are counted
 * there. Entries whose names end in `internal` are not public.
 */
export function countNames(manifests: readonly SourceFile[], sources: readonly SourceFile[]): EntryNames[] {
  const texts = new Map(sources.map(({ path, text }) => [path, text]))
  return manifests.flatMap(({ path: manifestPath, text }) => {
    const { name, exports = {} } = JSON.parse(text) as Manifest
    return Object.entries(exports).flatMap(([entry, target]) => {
      const source = typeof target === 'string' ? undefined : target['@tenon/source']
      if (source === undefined || /(internal|private-directory|debug-info)$/.test(entry)) return []
      const path = posix.join(posix.dirname(manifestPath), source)
      const { staticExports } = parseSync(path, texts.get(path) ?? '').module
      const names = staticExports.flatMap(({ entries }) => entries.flatMap((one) => one.exportName.name ?? []))
      return names.length === 0 ? [] : [{ entry: posix.join(name, entry), count: names.length }]
    })
  })
}

/** Keeps the number of public names small, because each of them is a name to learn. */
export const publicNamesCheck: Check = {
  name: 'names',
  async run() {
    const sources = await listSourceFiles(['.ts'])
    const manifests = (await listSourceFiles(['/package.json'])).filter(({ path }) =>
      /^packages\/[^/]+\/[^/]+$/.test(path),
    )
    const counts = countNames(manifests, sources)
    const total = counts.reduce((sum, { count }) => sum + count, 0)
    const table = counts.map(({ entry, count }) => `${entry}: ${count}`).join(', ')
    const problem = `The public entries must export at most ${LIMIT} names, got ${total} (${table}). Export from internal.ts what only other packages or tests use.`
    return { problems: total > LIMIT ? [problem] : [], note: `${total} public names in ${counts.length} entries` }
  },
}
