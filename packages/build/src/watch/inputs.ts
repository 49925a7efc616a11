import { type Dirent, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

import type { Project } from '../project/load-project.ts'

/** The files of which a change causes a build. */
const isInput = (name: string): boolean =>
  /\.(?:[chS]|cc|cpp|cxx|cu|hh|hpp|cuh|def|inc)$|^tenon\.config\.|^package\.json$/.test(name)

/** The folders with results and with packages of others. */
const isLeftOut = (name: string): boolean => name.startsWith('.') || ['build', 'dist', 'node_modules'].includes(name)

/**
 * A text that is different after a change of an input of a project: of a source or header in the project or in a folder outside that it
 * names, or of its configuration.
 *
 * Files are compared by their time, size and number, because the events of the system do not reach containers and network drives,
 * and editors replace files, or empty them before they write.
 */
export function inputsVersion(directory: string, project: Project | undefined): string {
  const files: string[] = []
  for (const folder of [directory, ...(project === undefined ? [] : outsideFolders(project))]) addFiles(folder, files)
  const { headers = [], annotations } = project?.config.binding ?? {}
  // They may have any name and place. A header that only the compiler finds is one of the system.
  for (const path of [...headers, ...(annotations === undefined ? [] : [annotations])])
    addFile(resolve(directory, path), files)
  return files.join('\n')
}

function outsideFolders({ directory, native, config }: Project): Set<string> {
  const targets = native.targets.flatMap(({ sources, includes = [] }) => [...sources.map(fixedPart), ...includes])
  const named = [...targets, ...(config.binding?.includes ?? [])]
  return new Set(
    named.map((path) => resolve(directory, path)).filter((path) => !`${path}/`.startsWith(`${directory}/`)),
  )
}

/** The folder of a glob, up to the first part with a wildcard. */
function fixedPart(glob: string): string {
  const parts = glob.split('/').slice(0, -1)
  const first = parts.findIndex((part) => /[*?[{]/.test(part))
  return (first === -1 ? parts : parts.slice(0, first)).join('/') || '.'
}

function addFiles(folder: string, files: string[]): void {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!isLeftOut(entry.name)) addFiles(path, files)
    } else if (isInput(entry.name)) addFile(path, files)
  }
}

function addFile(path: string, files: string[]): void {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status !== undefined) files.push(`${path} ${status.ino} ${status.size} ${status.mtimeMs}`)
}

/** A folder that was removed in the meantime is empty. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
