/**
 * The commands `pnpm bench:alive` and `pnpm bench:numpy`. Data goes to stdout, messages to stderr. The exit code is 1 if a row
 * failed, grows too fast or missed its target, and 2 for a wrong command line.
 */
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { findAliveFiles, tasksOf } from './alive/alive-files.ts'
import { ALIVE_USAGE, type AliveCliOptions, parseAliveOptions } from './alive/alive-options.ts'
import { aliveResultOf, growing, missedTargets } from './alive/alive-result.ts'
import { formatAliveTable } from './alive/alive-table.ts'
import { nodeContestant, numpyContestant } from './alive/contestants.ts'
import { findNumpy } from './alive/find-numpy.ts'
import { runAlive } from './alive/run-alive.ts'
import { buildFor } from './build.ts'
import { describeMachine } from '../../../packages/tenon/src/benchmark/machine.ts'
import { runCommand, talk } from './run-command.ts'

async function main(options: AliveCliOptions): Promise<void> {
  const numpy = options.numpy ? findNumpy(options.python === undefined ? undefined : [options.python]) : undefined
  const files = options.files.length > 0 ? options.files.map((file) => resolve(file)) : findAliveFiles(options.filter)
  if (!options.source && !options.built) buildFor(files)
  const tasks = (await tasksOf(files, options.row)).filter(({ row }) => !numpy || row.numpy)
  if (tasks.length === 0) throw new Error('nothing was measured, because no row matches the options')
  const machine = describeMachine()
  const date = new Date().toISOString()
  const contestants = options.nodes.map((node) => nodeContestant(node, versionOf(node), options.source))
  if (numpy) contestants.push(numpyContestant(numpy.python, numpy.version))
  const { counts, rounds } = options
  const { series, failures } = await runAlive({ tasks, contestants, counts, rounds, progress: talk })
  const results = series.map(aliveResultOf)
  if (options.json) process.stdout.write(`${JSON.stringify({ machine, date, results }, null, 2)}\n`)
  else process.stdout.write(`${formatAliveTable(results)}\n`)
  for (const { package: of, name, runtime, skipped } of results) {
    for (const [count, reason] of Object.entries(skipped))
      talk(`not measured: ${of}: ${name} with ${count} alive on ${runtime}, because ${reason}`)
  }
  const problems = [
    ...failures.map((failure) => `failed: ${failure}`),
    ...growing(results).map((row) => `grows: ${row}`),
    ...(options.check ? missedTargets(results) : []).map((miss) => `missed: ${miss}`),
  ]
  for (const problem of problems) talk(problem)
  if (problems.length > 0) process.exitCode = 1
}

function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
}

await runCommand(ALIVE_USAGE, () => parseAliveOptions(process.argv.slice(2)), main)
