import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { findPlatform, platforms, type PlatformName, ToolError } from '@tenon/build'

import { root } from './root.ts'

const states = ['tested', 'loads', 'builds'] as const

/** What is known of a platform, from `platforms.json`. */
export interface PlatformState {
  readonly name: PlatformName
  /** Whether all tests run there in each release, whether its libraries were loaded, or only that they are built. */
  readonly state: (typeof states)[number]
  /** The machine of GitHub that builds and tests it. Every tested platform has one. */
  readonly runner?: string
  /** What was run there. */
  readonly shown: string
}

/** Reads `platforms.json`. @throws {ToolError} if it lacks a platform, or an entry is not valid */
export function readPlatforms(): PlatformState[] {
  return parsePlatforms(readFileSync(join(root, 'platforms.json'), 'utf8'))
}

/** Parses the text of `platforms.json`. @throws {ToolError} if it lacks a platform, or an entry is not valid */
export function parsePlatforms(text: string): PlatformState[] {
  const entries = Object.entries(JSON.parse(text) as Readonly<Record<string, Omit<PlatformState, 'name'>>>)
  const missing = platforms.filter(({ name }) => !entries.some(([key]) => key === name))
  if (missing.length > 0) throw new ToolError(`platforms.json must have ${missing.map(({ name }) => name).join(', ')}`)
  return entries.map(([key, entry]) => {
    const { name } = findPlatform(key)
    if (!states.includes(entry.state))
      throw new ToolError(`the state of ${name} must be one of ${states.join(', ')}, got ${String(entry.state)}`)
    if (entry.state === 'tested' && entry.runner === undefined)
      throw new ToolError(`platforms.json must have the runner of ${name}, because it is tested`)
    return { name, ...entry }
  })
}

/** The platforms whose packages are published. */
export const releasedPlatforms = (all: readonly PlatformState[] = readPlatforms()): PlatformState[] =>
  all.filter(({ state }) => state === 'tested')

const meaning: Readonly<Record<PlatformState['state'], string>> = {
  tested: 'tested, part of a release',
  loads: 'loads',
  builds: 'builds',
}

/** The table of the platforms for README.md. */
export function platformTable(all: readonly PlatformState[]): string {
  const rows = [
    ['platform', 'state', 'what was run there'],
    ...all.map(({ name, state, shown }) => [`\`${name}\``, meaning[state], shown]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lineOf = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const [head, ...body] = rows.map(lineOf)
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body].join('\n')
}

const [begin, end] = ['<!-- platforms: from platforms.json -->', '<!-- end of platforms -->']

/** Replaces the table in a page. @throws {ToolError} if the page does not have the comments around it */
export function withPlatformTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new ToolError(`README.md must have ${begin} before ${end}`)
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`
}
