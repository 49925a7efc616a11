import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The result of one check of a conformance command. */
export interface Outcome {
  readonly name: string
  /** Undefined for a check that passed. */
  readonly problem?: string | undefined
  readonly milliseconds: number
}

/** Runs a check, which throws if it fails. */
export async function check(name: string, run: () => Promise<void> | void): Promise<Outcome> {
  const start = performance.now()
  let problem: string | undefined
  try {
    await run()
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error)
  }
  const outcome = { name, problem, milliseconds: performance.now() - start }
  process.stdout.write(`${lineOf(outcome)}\n`)
  return outcome
}

const lineOf = ({ name, problem, milliseconds }: Outcome): string => {
  const word = problem === undefined ? 'passed' : 'FAILED'
  return `${word}  ${String(Math.round(milliseconds)).padStart(6)} ms  ${name}`
}

/** Prints the problems and the sum, and sets the exit code. */
export function report(outcomes: readonly Outcome[]): void {
  const failed = outcomes.filter(({ problem }) => problem !== undefined)
  for (const { name, problem } of failed) process.stdout.write(`\n${name}\n${problem}\n`)
  process.stdout.write(`\n${outcomes.length - failed.length} passed, ${failed.length} failed\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}

/** Prints what a command needs but does not have, and sets the exit code. */
export function reportMissing(command: string, missing: readonly string[]): void {
  process.stderr.write(`${command} cannot run, because something is missing:\n`)
  for (const one of missing) process.stderr.write(`- ${one}\n`)
  process.exitCode = 1
}

/** The folder that an environment variable names. Adds a line to `missing` if it is not set, or has no file at `probe`. */
export function folderOf(variable: string, repository: string, probe: string, missing: string[]): string {
  const folder = process.env[variable]
  if (folder === undefined || folder === '') {
    missing.push(`${variable}, the path of a checkout of https://github.com/${repository}`)
  } else if (!existsSync(join(folder, probe))) {
    missing.push(
      `${probe} in ${folder}, which ${variable} names: it must be a checkout of https://github.com/${repository}`,
    )
  }
  return folder ?? ''
}
