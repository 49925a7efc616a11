import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Artifact, type BuildOptions, buildPackage } from './build.ts'
import { ToolError } from './tool-error.ts'
import type { LoadedPackage } from './load-package.ts'
import { type CommandResult, describeEnd, runCommand } from './run-command.ts'
import type { Variant } from './targets.ts'

/** The result of one C test. */
export interface NativeTestResult {
  readonly name: string
  readonly ok: boolean
  /** The reason of a failure. */
  readonly message?: string
}

/** How programs of another platform are run, for example with wine. */
export interface Runner {
  /** A command, to which the path of the program is added. Empty for programs of this machine. */
  readonly command: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** The contents of `reports/native.json`. */
export interface NativeReport {
  readonly passed: number
  readonly failed: number
  readonly tests: readonly NativeTestResult[]
}

/**
 * Builds and runs the test programs of a package for this machine, and writes `reports/native.json`.
 *
 * @throws {ToolError} if the build fails, or the package has no test program.
 */
export async function runNativeTests(
  pkg: LoadedPackage,
  variant: Variant,
  options: Pick<BuildOptions, 'coverage'> = {},
): Promise<NativeReport> {
  const report = await runTestPrograms(pkg, await buildTests(pkg, { ...options, variant }))
  mkdirSync(join(pkg.directory, 'reports'), { recursive: true })
  writeFileSync(join(pkg.directory, 'reports/native.json'), `${JSON.stringify(report, null, 2)}\n`)
  return report
}

/**
 * Builds the test programs of a package and what they load, and returns the programs.
 *
 * @throws {ToolError} if the build fails, or the package has no test program.
 */
export async function buildTests(pkg: LoadedPackage, options: Omit<BuildOptions, 'kinds'>): Promise<Artifact[]> {
  const artifacts = await buildPackage(pkg, { ...options, forTests: true, kinds: ['shared', 'executable', 'test'] })
  const programs = artifacts.filter(({ target }) => target.kind === 'test')
  if (programs.length === 0) throw new ToolError(`${pkg.name} has no test target in native.targets.ts`)
  return programs
}

/**
 * Runs test programs and reads what they print.
 *
 * @param runner of programs of another platform
 */
export async function runTestPrograms(
  pkg: LoadedPackage,
  programs: readonly Artifact[],
  runner: Runner = { command: [] },
): Promise<NativeReport> {
  const tests: NativeTestResult[] = []
  for (const { target, path } of programs) {
    const [file, ...args] = [...runner.command, path]
    const env = { ...process.env, ...runner.env }
    tests.push(...readTestOutput(target.name, await runCommand(file!, args, { cwd: pkg.directory, env })))
  }
  const passed = tests.filter((test) => test.ok).length
  return { passed, failed: tests.length - passed, tests }
}

/**
 * Reads the output of a test program: a plan `1..N`, then `# name` before and `ok - name` or `not ok - name: reason` after each
 * test. A program whose exit code contradicts its output, or that ended before its plan, has one more failure.
 */
export function readTestOutput(program: string, result: CommandResult): NativeTestResult[] {
  const lines = result.stdout.split(/\r?\n/)
  const tests: NativeTestResult[] = []
  let running: string | undefined
  for (const line of lines) {
    const started = /^# (.+)$/.exec(line)
    if (started) running = started[1]
    const ended = /^(not )?ok - ([^:]+)(?:: (.*))?$/.exec(line)
    if (!ended) continue
    running = undefined
    const name = `${program} > ${ended[2]}`
    tests.push(ended[1] ? { name, ok: false, message: ended[3] ?? 'failed' } : { name, ok: true })
  }
  const planned = Number(lines.map((line) => /^1\.\.(\d+)$/.exec(line)).find(Boolean)?.[1] ?? Number.NaN)
  const expectedCode = tests.every((test) => test.ok) ? 0 : 1
  if (result.code !== expectedCode || tests.length !== planned) {
    const name = running ? `${program} > ${running}` : program
    const ran = Number.isNaN(planned) ? 'without a plan' : `after ${tests.length} of ${planned} tests`
    tests.push({ name, ok: false, message: `ended by ${describeEnd(result)} ${ran}\n${result.stderr}`.trimEnd() })
  } else if (tests.length === 0) {
    tests.push({ name: program, ok: false, message: 'the program has no tests' })
  }
  return tests
}
