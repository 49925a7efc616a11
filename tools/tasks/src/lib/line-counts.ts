import { isAbsolute, join } from 'node:path'

/** How often the lines of files ran, by absolute path and number of the line. Lines without code are missing. */
export type LineCounts = Map<string, Map<number, number>>

/** A JSON document with the counts, which {@link parseCounts} reads. */
export function printCounts(counts: LineCounts): string {
  return JSON.stringify([...counts].map(([path, lines]) => [path, [...lines]]))
}

/** The counts that {@link printCounts} wrote. */
export function parseCounts(text: string): LineCounts {
  const files = JSON.parse(text) as [string, [number, number][]][]
  return new Map(files.map(([path, lines]) => [path, new Map(lines)]))
}

function addLine(lines: Map<number, number>, line: number, count: number): void {
  lines.set(line, (lines.get(line) ?? 0) + count)
}

/** Adds counts of other runs to `counts`, with all of their files and lines. */
export function addCounts(counts: LineCounts, more: LineCounts): void {
  for (const [path, lines] of more) {
    const known = counts.get(path) ?? new Map<number, number>()
    for (const [line, count] of lines) addLine(known, line, count)
    counts.set(path, known)
  }
}

/**
 * Adds only to the lines that `counts` has. A compiler that moves code takes some of it to lines of which another compiler says that
 * they have no code, and a line must not become code because of that.
 */
export function addToKnownLines(counts: LineCounts, more: LineCounts): void {
  for (const [path, lines] of more) {
    const known = counts.get(path)
    if (known === undefined) continue
    for (const [line, count] of lines) if (known.has(line)) addLine(known, line, count)
  }
}

/** The part of a report of istanbul that has lines: each statement counts for the line on which it begins. */
export type IstanbulReport = Readonly<
  Record<
    string,
    {
      readonly path: string
      readonly statementMap: Readonly<Record<string, { readonly start: { readonly line: number } }>>
      readonly s: Readonly<Record<string, number>>
    }
  >
>

/** The lines of a report of istanbul. The most frequent statement of a line counts, as in istanbul's own reports. */
export function readIstanbul(report: IstanbulReport): LineCounts {
  return new Map(
    Object.values(report).map(({ path, statementMap, s }) => {
      const lines = new Map<number, number>()
      for (const [id, { start }] of Object.entries(statementMap))
        lines.set(start.line, Math.max(lines.get(start.line) ?? 0, s[id] ?? 0))
      return [path, lines]
    }),
  )
}

interface GcovReport {
  readonly files: readonly {
    readonly file: string
    readonly lines: readonly { readonly line_number: number; readonly count: number }[]
  }[]
}

/**
 * The lines of what `gcov --json-format --stdout` prints, which is one report on each line of its output, for one object file each. A
 * file that is in several of them, as a header is, has the sum of their counts. Headers of the system are left out.
 *
 * @param directory that relative paths begin from.
 */
export function readGcov(output: string, directory: string): LineCounts {
  const counts: LineCounts = new Map()
  for (const text of output.split('\n')) {
    if (!text.startsWith('{')) continue
    for (const { file, lines } of (JSON.parse(text) as GcovReport).files) {
      if (isAbsolute(file)) continue
      // A line that functions share, for example of a macro, is listed once for each of them.
      const sums = new Map<number, number>()
      for (const { line_number: line, count } of lines) addLine(sums, line, count)
      addCounts(counts, new Map([[join(directory, file), sums]]))
    }
  }
  return counts
}
