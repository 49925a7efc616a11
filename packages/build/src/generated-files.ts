import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { layOut } from './abi/layout.ts'
import { parseHeader } from './abi/parse-header.ts'
import { mergeConstants, renderFunctions, renderLayouts, renderProof } from './abi/render.ts'
import { readTokens } from './abi/tokens.ts'
import type { LoadedPackage } from './load-package.ts'
import { parseStatusTable, renderStatusTable } from './status-table.ts'
import type { AbiTables, SharedTarget } from './targets.ts'
import { ToolError } from './tool-error.ts'

/**
 * Writes the generated files of a package that have changed.
 *
 * @throws {ToolError} for a source that cannot be parsed and, with `write: false`, for a committed file that is stale.
 */
export function generateFiles(pkg: LoadedPackage, { write }: { write: boolean }): void {
  for (const [output, wanted] of Object.entries(renderAll(pkg))) {
    const path = join(pkg.directory, output)
    if (existsSync(path) && readFileSync(path, 'utf8') === wanted) continue
    if (!write) throw new ToolError(`${pkg.name}: ${output} is stale: run native-build and commit it`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, wanted)
  }
}

/** The text of each generated file, by its path. */
function renderAll({ directory, native }: LoadedPackage): Record<string, string> {
  const read = (path: string): string => readFileSync(join(directory, path), 'utf8')
  const files: Record<string, string> = {}
  const { statusTable: table, abi, targets } = native
  if (table) files[table.output] = renderStatusTable(parseStatusTable(read(table.source)), table.source)
  if (abi) {
    const libraries = targets.filter((target): target is SharedTarget => target.kind === 'shared')
    Object.assign(files, renderAbi(abi, libraries, read))
  }
  return files
}

function renderAbi(
  abi: AbiTables,
  libraries: readonly SharedTarget[],
  read: (path: string) => string,
): Record<string, string> {
  const headers = abi.headers.map(({ source, only }) =>
    parseHeader(readTokens(source, read(source)), abi.exportMacro, only),
  )
  const layouts = layOut(headers)
  const constants = mergeConstants(headers)
  const includes = abi.headers.map(({ source, include }) => include ?? basename(source))
  return {
    [abi.functions]: renderFunctions(headers, libraries),
    [abi.layouts]: renderLayouts(layouts, constants),
    [abi.proof]: renderProof(includes, layouts, constants),
  }
}
