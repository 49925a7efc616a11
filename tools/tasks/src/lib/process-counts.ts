import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import { mergeProcessCovs, type ProcessCov } from '@bcoe/v8-coverage'
import { convert } from 'ast-v8-to-istanbul'
import { parseSync } from 'oxc-parser'

import { addCounts, type IstanbulReport, type LineCounts, readIstanbul } from './line-counts.ts'

type Script = ProcessCov['result'][number]
type SourceMap = NonNullable<Parameters<typeof convert>[0]['sourceMap']>

/** How many reports are in memory at once. Some have megabytes. */
const BATCH = 20

/**
 * The lines that ran in processes and workers with `NODE_V8_COVERAGE`. Their scripts are sources, whose types Node.js replaced by
 * spaces, or built files with a source map. Other scripts are left out.
 *
 * @param files what the processes wrote. A file that a process did not write to its end is left out.
 * @param isMeasured whether a script, by its absolute path, is code of this repository.
 */
export async function readProcessCounts(
  files: readonly string[],
  isMeasured: (path: string) => boolean,
): Promise<LineCounts> {
  let merged: ProcessCov = { result: [] }
  for (let start = 0; start < files.length; start += BATCH) {
    const batch = files.slice(start, start + BATCH).map((file) => readProcess(file, isMeasured))
    merged = mergeProcessCovs([merged, ...batch])
  }
  const counts: LineCounts = new Map()
  for (const script of merged.result) addCounts(counts, await readScript(script))
  return counts
}

function readProcess(file: string, isMeasured: (path: string) => boolean): ProcessCov {
  let report: ProcessCov
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as ProcessCov
  } catch {
    // The process was killed while it wrote.
    return { result: [] }
  }
  const result = report.result.filter(({ url }) => url.startsWith('file:') && isMeasured(fileURLToPath(url)))
  return { result: result.map((script) => ({ ...script, url: script.url.replace(/[?#].*/, '') })) }
}

async function readScript(script: Script): Promise<LineCounts> {
  const path = fileURLToPath(script.url)
  const isSource = path.endsWith('.ts')
  // A file of a test may be deleted.
  if (!existsSync(path)) return new Map()
  const text = readFileSync(path, 'utf8')
  const map = isSource ? undefined : findMap(path, text)
  if (!isSource && map === undefined) return new Map()
  const code = isSource ? stripTypeScriptTypes(text) : text
  const sourceMap = map === undefined ? undefined : readMap(map)
  const { program } = parseSync(path.replace(/\.ts$/, '.js'), code)
  const report = await convert({ ast: program, code, coverage: script, ...(sourceMap && { sourceMap }) })
  const counts = readIstanbul(report as IstanbulReport)
  return new Map([...counts].map(([source, lines]) => [join(source), lines]))
}

/** A source map with the absolute paths of its sources, because the library looks for them beside the code. */
function readMap(path: string): SourceMap {
  const map = JSON.parse(readFileSync(path, 'utf8')) as SourceMap
  return { ...map, sources: map.sources.map((source) => source && resolve(dirname(path), source)) }
}

/**
 * The source map of a built file: the one beside it, or that of the same code in `reports/maps` of its package, because bundled programs
 * are published without one.
 */
function findMap(path: string, code: string): string | undefined {
  if (existsSync(`${path}.map`)) return `${path}.map`
  const again = path.replace(/[/\\]dist[/\\]/, '/reports/maps/')
  if (!existsSync(`${again}.map`)) return undefined
  const isSame =
    readFileSync(again, 'utf8')
      .replace(/\/\/# sourceMappingURL=.*\n?$/, '')
      .trimEnd() === code.trimEnd()
  return isSame ? `${again}.map` : undefined
}
