import { posix } from 'node:path'

import { parseSync } from 'oxc-parser'

import type { Check } from './check.ts'
import { isDocumented } from './is-documented.ts'
import { findIncompleteReferences } from './references.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The entries of packages, whose exports are public. */
const entries = /^packages\/[^/]+\/src\/(bind|client|hidl|index|koffi|linker|testing)\.ts$/

export function findUndocumented(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  return files.filter(({ path }) => entries.test(path)).flatMap((entry) => undocumentedOf(entry, byPath))
}

function undocumentedOf(entry: SourceFile, files: ReadonlyMap<string, SourceFile>): string[] {
  const exported = parseSync(entry.path, entry.text).module.staticExports.flatMap((statement) => statement.entries)
  return exported.flatMap(({ moduleRequest, importName }) => {
    const name = importName.name
    if (moduleRequest === null || !moduleRequest.value.startsWith('.')) return []
    const path = posix.join(posix.dirname(entry.path), moduleRequest.value)
    if (name === null || name === undefined) return [`${entry.path} must export by name, got export * from ${path}`]
    const source = files.get(path)
    if (source !== undefined && isDocumented(source.text, name)) return []
    return [`${path} must document the purpose, units, ownership and errors of ${name}, which ${entry.path} exports`]
  })
}

/** Returns a sentence for each public name that the reference of the API lacks or does not explain. */
export function findReferenceProblems(files: readonly SourceFile[]): string[] {
  return [...findUndocumented(files), ...findIncompleteReferences(files, (path) => entries.test(path))]
}

export const documentedCheck: Check = {
  name: 'documented',
  async run() {
    return { problems: findReferenceProblems(await listSourceFiles(['.ts'])) }
  },
}
