import { parseArgs } from 'node:util'

import { installRuntime, testedRuntimes, type TestedRuntime } from '@tenon/config/runtimes'

import { commonOptions, findNodes, type CommonOptions } from './common-options.ts'

export interface CliOptions extends CommonOptions {
  readonly quick: boolean
  readonly plots: boolean
  /** The runtime that `nodes` has, if it is not Node.js. */
  readonly runtime?: TestedRuntime | undefined
  /** The directory to which the results are written as well. */
  readonly report?: string | undefined
  /** Another checkout to compare with. */
  readonly against?: string | undefined
}

export const USAGE = `pnpm bench [options] [files]

Measures the bench/*.bench.ts of the packages against their peers, or the given files, each in its own process. Builds first.

  --filter <package>   only this package (repeatable): scope, @tenon/scope
  --row <text>         only rows whose names contain this text
  --quick              fewer rounds: under three minutes for everything
  --plots              only the rows of the plots: about two minutes
  --against <checkout> builds that checkout too, measures both in turns, and names the rows that became slower
  --check              exit 1 if a ratio misses the target of its row
  --node 22,24,26      on these versions of Node.js, which are installed when they are first used
  --runtime bun|deno   in this runtime, for files without koffi: packages/core/bench/runtimes.bench.ts
  --json               one JSON document on stdout instead of tables
  --report <directory> writes bench.json, bench.md and the plots there
  --source             measure the sources without building them
  --help               this text`

/** @throws {TypeError} for an unknown option. @throws {Error} if a Node.js cannot be installed. */
export function parseOptions(args: readonly string[]): CliOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...commonOptions,
      plots: { type: 'boolean', default: false },
      report: { type: 'string' },
      runtime: { type: 'string' },
      against: { type: 'string' },
    },
  })
  const { node, runtime: name, ...rest } = values
  const runtime = testedRuntimes.find((known) => known === name)
  if (name !== undefined && runtime === undefined)
    throw new TypeError(`--runtime must be one of ${testedRuntimes.join(', ')}, got ${name}`)
  if (runtime !== undefined && (node !== undefined || rest.against !== undefined))
    throw new TypeError(`--runtime cannot be used with ${node === undefined ? '--against' : '--node'}`)
  const other = (['check', 'plots', 'report'] as const).find(
    (option) => rest[option] !== undefined && rest[option] !== false,
  )
  if (rest.against !== undefined && other !== undefined) throw new TypeError(`--against cannot be used with --${other}`)
  return {
    ...rest,
    files: positionals,
    runtime,
    nodes: runtime === undefined ? findNodes(node) : [installRuntime(runtime)],
  }
}
