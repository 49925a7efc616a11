import { parseArgs } from 'node:util'
import { commonOptions, findNodes, type CommonOptions } from '../common-options.ts'

export interface AliveCliOptions extends CommonOptions {
  readonly built: boolean
  readonly numpy: boolean
  readonly python?: string | undefined
  readonly counts: readonly number[]
  readonly rounds: number
}

export const ALIVE_USAGE = `pnpm bench:alive [options] [files]
pnpm bench:numpy [options] [files]

Measures the time and the resident memory of an object with 1, 100, 10,000 and 1,000,000 alive, as the bench/alive.ts of the
packages make them, each count in a process of its own. bench:numpy measures the rows that NumPy has as well, in turns.
Exits with 1 if the time or the memory grows with an exponent above 1.1. Builds first.

  --filter <package>      only this package (repeatable): scope, @tenon/scope
  --row <text>            only rows whose names contain this text
  --counts 1,100          only these numbers of objects
  --rounds 3              the number of processes for each count of a row
  --quick                 one process for each count, and at most 10,000 objects
  --check                 exit 1 also if a row misses its target
  --node 22,24,26         on these versions of Node.js, which are installed when they are first used
  --python <path>         the Python whose NumPy is compared
  --json                  one JSON document on stdout instead of tables
  --built                 measure what was built before
  --source                measure the sources without building them
  --help                  this text`

const COUNTS = [1, 100, 10_000, 1_000_000]

/** @throws {TypeError} for an unknown option or a value that is not a positive integer. */
export function parseAliveOptions(args: readonly string[]): AliveCliOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...commonOptions,
      built: { type: 'boolean', default: false },
      numpy: { type: 'boolean', default: false },
      counts: { type: 'string' },
      rounds: { type: 'string' },
      python: { type: 'string' },
    },
  })
  const { node, counts, rounds, quick, ...rest } = values
  return {
    ...rest,
    files: positionals,
    nodes: findNodes(node),
    counts:
      counts === undefined
        ? quick
          ? COUNTS.slice(0, 3)
          : COUNTS
        : counts.split(',').map((text) => positive('counts', text)),
    rounds: rounds === undefined ? (quick ? 1 : 3) : positive('rounds', rounds),
  }
}

function positive(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new TypeError(`--${option} must be a positive integer, got ${text}.`)
  return value
}
