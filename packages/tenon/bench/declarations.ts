/**
 * Measures what declarations of `tenon types` cost a type check, against declarations without types: 500 sets of four kernels,
 * with three calls of each set. The sets have the same types; with `--distinct`, no two kernels have the same type. The exit code is 1 if
 * a compiler needs more than 1.6 times the time, or more than 15 instantiations for each set.
 *
 *   node --conditions=@tenon/source bench/declarations.ts [--rounds 9] [--sets 500] [--distinct] [compiler ...]
 *
 * A compiler is the JavaScript file of a tsc; the default is that of the workspace. The declarations of the packages must be built.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { checkProject, writeProject } from './declaration-project.ts'

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    sets: { type: 'string', default: '500' },
    distinct: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const [rounds, sets] = [Number(values.rounds), Number(values.sets)]
const compilers =
  positionals.length > 0
    ? positionals.map((path) => resolve(path))
    : [fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))]
const directory = mkdtempSync(join(tmpdir(), 'tenon-declarations-'))
const [typed, untyped] = [join(directory, 'typed'), join(directory, 'untyped')]

interface Check {
  readonly checkMs: number
  readonly instantiations: number
}

function check(project: string, compiler: string): Check {
  const text = checkProject(project, compiler, {}, '--extendedDiagnostics')
  if (/error TS/.test(text)) throw new Error(text)
  const figure = (name: string): number => Number(new RegExp(`${name}:\\s+([\\d.]+)`).exec(text)?.[1])
  return { checkMs: figure('Check time') * 1000, instantiations: figure('Instantiations') }
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!
const range = (numbers: readonly number[]): string =>
  `${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)} to ${Math.max(...numbers).toFixed(2)})`

try {
  writeProject(typed, sets, values.distinct ? 'distinct' : 'alike')
  writeProject(untyped, sets, 'untyped')
  for (const compiler of compilers) {
    const pairs = Array.from({ length: rounds }, () => [check(typed, compiler), check(untyped, compiler)] as const)
    const ratios = pairs.map(([ours, peer]) => ours.checkMs / peer.checkMs)
    const [[ours, peer]] = pairs as [(typeof pairs)[number]]
    const perSet = (ours.instantiations - peer.instantiations) / sets
    process.stdout.write(
      `${compiler}\n  check time, ms: typed ${range(pairs.map(([one]) => one.checkMs))}, untyped ${range(pairs.map(([, one]) => one.checkMs))}\n` +
        `  ratio: ${range(ratios)}\n  instantiations for a set: ${perSet.toFixed(1)}\n`,
    )
    if (median(ratios) > 1.6 || perSet > 15) process.exitCode = 1
  }
} finally {
  rmSync(directory, { recursive: true })
}
