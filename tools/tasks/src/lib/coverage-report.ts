import { relative } from 'node:path'

import type { LineCounts } from './line-counts.ts'

/** How many files the report lists. */
const WORST = 10

/** The languages of the report, by the extensions of their files. */
const languages = { TypeScript: /\.ts$/, C: /\.(?:c|cc|h)$/ } as const

/** Files that are not code that users run: tests, what only tests load, benchmarks, and files that are generated. */
const left = /\/(?:test|fuzz|fixture|fixtures|bench|generated|node_modules|dist)\/|\.d\.ts$/

/** A package whose files are counted. */
export interface CoveredPackage {
  readonly name: string
  /** The absolute path. */
  readonly directory: string
}

/** How many lines of a part of the code ran. */
export interface Coverage {
  readonly covered: number
  readonly all: number
}

interface CoveredFile extends Coverage {
  readonly path: string
  readonly package: string
  readonly language: keyof typeof languages
}

function measureFiles(packages: readonly CoveredPackage[], counts: LineCounts): CoveredFile[] {
  return [...counts].flatMap(([path, lines]) => {
    const owner = packages.find(({ directory }) => path.startsWith(`${directory}/`))
    if (owner === undefined || left.test(path.slice(owner.directory.length))) return []
    const language = languages.TypeScript.test(path) ? 'TypeScript' : languages.C.test(path) ? 'C' : undefined
    if (language === undefined) return []
    const covered = [...lines.values()].filter((count) => count > 0).length
    return [{ path, package: owner.name, language, covered, all: lines.size }]
  })
}

function sum(parts: readonly Coverage[]): Coverage {
  return {
    covered: parts.reduce((total, { covered }) => total + covered, 0),
    all: parts.reduce((total, { all }) => total + all, 0),
  }
}

/** A cell of a table: `900 / 1000 (90 %)`, or a dash where there is no code. */
export function cell({ covered, all }: Coverage): string {
  // Rounded down, so that 100 % means every line.
  return all === 0 ? '–' : `${covered} / ${all} (${Math.floor((100 * covered) / all)} %)`
}

/**
 * The tables of the report in Markdown: the lines of each package that ran, by language, and the files with the most lines that did not.
 *
 * @param root that the paths of files are relative to.
 */
export function coverageTables(packages: readonly CoveredPackage[], counts: LineCounts, root: string): string[] {
  const files = measureFiles(packages, counts)
  const row = (name: string, some: readonly CoveredFile[]): string[] => {
    const of = (language: keyof typeof languages): string =>
      cell(sum(some.filter((file) => file.language === language)))
    return [name, String(some.length), of('TypeScript'), of('C')]
  }
  const rows = packages
    .map(({ name }) => ({ name, own: files.filter((file) => file.package === name) }))
    .filter(({ own }) => own.length > 0)
    .map(({ name, own }) => row(name, own))
  const worst = files
    .toSorted((a, b) => b.all - b.covered - (a.all - a.covered) || (a.path < b.path ? -1 : 1))
    .filter(({ covered, all }) => covered < all)
    .slice(0, WORST)
  return [
    '## Lines that ran',
    '',
    ...table([['package', 'files', 'TypeScript', 'C'], ...rows, row('all', files)]),
    '',
    '## Files with the most lines that did not run',
    '',
    ...table([
      ['file', 'did not run', 'ran'],
      ...worst.map((file) => [relative(root, file.path), String(file.all - file.covered), cell(file)]),
    ]),
  ]
}

/** A table in Markdown whose columns are aligned, as the formatter wants. @param rows the first of which is the head. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`
  const [head, ...body] = rows.map(line)
  return [head!, line(widths.map((width) => '-'.repeat(width))), ...body]
}
