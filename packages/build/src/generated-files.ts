import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { parseHeaders } from './abi/parse-headers.ts'
import { renderFunctions, renderLayouts, renderProof, renderStructs } from './abi/render.ts'
import { parseStatusTable, renderStatusTable } from './abi/status-table.ts'
import type { LoadedPackage } from './load-package.ts'
import { ToolError } from './tool-error.ts'

/** @throws {ToolError} for a source that cannot be parsed and, with `write: false`, for a committed file that is stale. */
export function generateFiles(pkg: LoadedPackage, { write }: { write: boolean }): void {
  for (const [output, wanted] of Object.entries(renderAll(pkg))) {
    const path = join(pkg.directory, output)
    if (existsSync(path) && readFileSync(path, 'utf8') === wanted) continue
    if (!write) throw new ToolError(`${pkg.name}: ${output} is stale. Run tenon-build and commit it.`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, wanted)
  }
}

function renderAll({ directory, native }: LoadedPackage): Record<string, string> {
  const read = (path: string): string => readFileSync(join(directory, path), 'utf8')
  const { statusTable, abi, targets } = native
  const files: Record<string, string> = {}
  if (statusTable) files[statusTable.output] = renderStatusTable(parseStatusTable(read(statusTable.source)))
  if (abi) {
    const headers = abi.headers.map(({ source, only }) => ({ path: source, text: read(source), only }))
    const declared = parseHeaders(headers, abi.exportMacro)
    const includes = abi.headers.map(({ source, include }) => include ?? basename(source))
    files[abi.functions] = renderFunctions(declared.functions, targets)
    files[abi.layouts] = renderLayouts(declared)
    if (abi.structs !== undefined) files[abi.structs] = renderStructs(declared)
    files[abi.proof] = renderProof(includes, declared)
  }
  return files
}
