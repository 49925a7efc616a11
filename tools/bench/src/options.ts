import { parseArgs } from 'node:util'

import { findNode } from '@tenon/config/node-versions'

export interface CliOptions {
  readonly json: boolean
  readonly quick: boolean
  readonly check: boolean
  readonly source: boolean
  readonly help: boolean
  /** The packages to measure; all of them if the list is empty. */
  readonly filter: readonly string[]
  /** The bench files to measure instead of those of the packages. */
  readonly files: readonly string[]
  readonly row?: string | undefined
  readonly nodes: readonly string[]
}

export const USAGE = `pnpm bench [options] [files]

Measures the bench/*.bench.ts of the packages against their peers, or the given files, each in its own process. Builds first.

  --filter <package>   only this package (repeatable): scope, @tenon/scope
  --row <text>         only rows whose names contain this text
  --quick              fewer rounds: under three minutes for everything
  --check              exit 1 if a ratio misses the target of its row
  --node 22,24,26      on these versions of Node.js, which are installed when they are first used
  --json               one JSON document on stdout instead of tables
  --source             measure the sources without building them
  --help               this text`

/** @throws {TypeError} for an unknown option. @throws {Error} if a Node.js cannot be installed. */
export function parseOptions(args: readonly string[]): CliOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      source: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      filter: { type: 'string', multiple: true, default: [] },
      node: { type: 'string' },
      row: { type: 'string' },
    },
  })
  const { node, ...rest } = values
  return {
    ...rest,
    files: positionals,
    nodes: node === undefined ? [process.execPath] : node.split(',').map((major) => findNode(major.trim())),
  }
}
