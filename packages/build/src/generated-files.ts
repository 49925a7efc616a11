import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { parseStatusTable, renderStatusTable } from './abi/status-table.ts'
import type { LoadedPackage } from './load-package.ts'
import type { AbiTables, NativeTarget } from './targets.ts'
import { ToolError } from './tool-error.ts'

/** @throws {ToolError} for a source that cannot be read and, with `write: false`, for a committed file that is stale. */
export async function generateFiles(pkg: LoadedPackage, { write }: { write: boolean }): Promise<void> {
  for (const [output, wanted] of Object.entries(await renderAll(pkg))) {
    const path = join(pkg.directory, output)
    if (existsSync(path) && readFileSync(path, 'utf8') === wanted) continue
    if (!write) throw new ToolError(`${pkg.name}: ${output} is stale. Run tenon-build and commit it.`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, wanted)
  }
}

async function renderAll({ directory, native }: LoadedPackage): Promise<Record<string, string>> {
  const { statusTable, abi, targets } = native
  const files: Record<string, string> = {}
  if (statusTable) {
    const source = readFileSync(join(directory, statusTable.source), 'utf8')
    files[statusTable.output] = renderStatusTable(parseStatusTable(source))
  }
  if (abi) Object.assign(files, await (await loadHeaderReader(directory)).renderAbi(abi, targets, directory))
  return files
}

/** The part of `@tenon/bind` that renders tables. */
interface HeaderReader {
  renderAbi(
    abi: AbiTables,
    targets: readonly NativeTarget[],
    directory: string,
  ): Promise<Readonly<Record<string, string>>>
}

/** Loads the reader of C headers as the package finds it. It stands on this package, which therefore cannot depend on it. */
async function loadHeaderReader(directory: string): Promise<HeaderReader> {
  let path: string
  try {
    path = createRequire(join(directory, 'package.json')).resolve('@tenon/bind/internal')
  } catch (cause) {
    throw new ToolError(
      `the tables of ${directory} need @tenon/bind, which is not installed there: npm install --save-dev @tenon/bind`,
      { cause },
    )
  }
  return (await import(pathToFileURL(path).href)) as HeaderReader
}
