import { parseArgs } from 'node:util'

import { findNode } from '@tenon/config/node-versions'

/** What the command line asks for. */
export interface CliOptions {
  readonly json: boolean
  readonly quick: boolean
  readonly check: boolean
  readonly probe: boolean
  readonly source: boolean
  readonly help: boolean
  /** Packages to measure; all if there is none. */
  readonly filter: readonly string[]
  /** Text in the names of the rows to measure; all without it. */
  readonly row?: string | undefined
  /** Node binaries. */
  readonly nodes: readonly string[]
}

/** How the command is used. */
export const USAGE = `pnpm bench [options]

Measures the packages' bench/*.bench.ts against their peers, each file in its own process. Builds first.

  --filter <package>   only this package (repeatable): scope, @tenon/scope
  --row <text>         only rows whose name has this text in it
  --quick              fewer rounds: under three minutes for everything
  --check              exit 1 if a ratio misses the target that stands beside its row
  --node 22,24,26      on these Nodes; they are installed when they are first asked for
  --json               one JSON document on stdout instead of tables
  --source             measure the sources, without building: for work on them
  --probe              measure the alternatives to the design of @tenon/core instead of the packages
  --help               this text`

/** Reads the command line. @throws {TypeError} for what it doesn't know. @throws {Error} if a Node can't be had. */
export function parseOptions(args: readonly string[]): CliOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      probe: { type: 'boolean', default: false },
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
    nodes: node === undefined ? [process.execPath] : node.split(',').map((major) => findNode(major.trim())),
  }
}
