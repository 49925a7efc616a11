import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'

import { buildPackage } from '../build.ts'
import { describeEnd, runCommand } from '../run-command.ts'
import { type NativeTestResult, readTestOutput } from '../run-tests.ts'
import { sanitizerEnvironment } from '../sanitizer.ts'
import type { Variant } from '../targets.ts'
import { ToolError } from '../tool-error.ts'
import type { Project } from './load-project.ts'

/** The tests of a project, and how they ended. */
export interface ProjectTestReport {
  /** Whether all tests have passed. */
  readonly ok: boolean
  /** The results of the programs in C and C++. */
  readonly programs: readonly NativeTestResult[]
  /** The paths of the test files that Node.js has run, relative to the project. It prints their results itself. */
  readonly files: readonly string[]
}

/**
 * Builds a variant of a project, and runs its tests: the programs of the configuration, and `test/*.test.ts` (or `.mts`, `.js`,
 * `.mjs`) with `node --test`, in which the module of the project uses the variant.
 *
 * @param onProgram called with each result of a program
 * @param output the descriptor to which Node.js prints its results: 1 for stdout, or 2 for stderr
 * @throws {ToolError} if the build fails, or there are no tests
 */
export async function testProject(
  project: Project,
  variant: Variant,
  onProgram: (result: NativeTestResult) => void = () => {},
  output: 1 | 2 = 1,
): Promise<ProjectTestReport> {
  const { directory } = project
  const artifacts = await buildPackage(project, { variant, kinds: ['shared', 'test'] })
  const environment = {
    ...process.env,
    ...(variant === 'asan' ? await sanitizerEnvironment() : {}),
    TENON_BUILD_VARIANT: variant,
  }
  const files = globSync('test/**/*.test.{ts,mts,js,mjs}', { cwd: directory }).toSorted()
  const programs: NativeTestResult[] = []
  for (const { target, path } of artifacts.filter((artifact) => artifact.target.kind === 'test')) {
    for (const result of await runProgram(target.name, path, directory, environment)) {
      onProgram(result)
      programs.push(result)
    }
  }
  if (programs.length + files.length === 0) {
    throw new ToolError(`${directory} has no tests.\nAdd test/NAME.test.ts, or tests to tenon.config.ts.`)
  }
  const passes = files.length === 0 || (await runNodeTests(files, directory, environment, output))
  return { ok: passes && programs.every(({ ok }) => ok), programs, files }
}

/** A program that prints no plan is one test, which passes if the exit code is 0. */
async function runProgram(
  name: string,
  path: string,
  cwd: string,
  environment: NodeJS.ProcessEnv,
): Promise<NativeTestResult[]> {
  // The program contains the sanitizer.
  const { LD_PRELOAD: _, ...env } = environment
  const result = await runCommand(path, [], { cwd, env })
  if (/^1\.\.\d+$/m.test(result.stdout)) return readTestOutput(name, result)
  if (result.code === 0) return [{ name, ok: true }]
  const output = `${result.stdout}${result.stderr}`.trimEnd()
  return [{ name, ok: false, message: `ended by ${describeEnd(result)}\n${output}`.trimEnd() }]
}

function runNodeTests(
  files: readonly string[],
  cwd: string,
  environment: NodeJS.ProcessEnv,
  output: 1 | 2,
): Promise<boolean> {
  // A run within another one would report to that one.
  const { NODE_TEST_CONTEXT: _, ...env } = environment
  // Node.js before 22.18 runs TypeScript only with the flag.
  const flags = process.features.typescript ? [] : ['--experimental-strip-types']
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, '--test', ...files], {
      cwd,
      env,
      stdio: ['inherit', output, 'inherit'],
    })
    child.on('error', reject)
    child.on('close', (code) => resolve(code === 0))
  })
}
