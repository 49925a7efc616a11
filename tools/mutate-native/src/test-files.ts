import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Artifact, ToolError } from '@tenon/build'
import { type CommandResult, describeEnd, runCommand } from '@tenon/build/internal'

import type { Confinement } from './confinement.ts'

/** The tests of one source. */
export interface TestFile {
  /** The name of the program, which can run several files. */
  readonly program: string
  /** The path relative to the package: `csrc/test/base/memory_test.c`. */
  readonly file: string
  /** The program, whose arguments are names of files. */
  readonly command: readonly string[]
  /** As the program knows the file. By default `file`. */
  readonly argument?: string
  /** The working directory. By default that of the place. */
  readonly directory?: string
  readonly env?: NodeJS.ProcessEnv
}

/** What the tests of a file run without a mutant. */
export interface TestRun {
  readonly milliseconds: number
  /** The numbers of the mutants whose code runs. */
  readonly mutants: ReadonlySet<number>
}

/** Where test programs run. */
export interface TestPlace {
  readonly directory: string
  readonly confinement: Confinement
}

/** A program that takes longer is no program that could be run for each mutant. */
const LONGEST_MS = 300_000

/** Returns the sources of test programs that have tests. */
export async function listTestFiles(programs: readonly Artifact[], place: TestPlace): Promise<TestFile[]> {
  const files: TestFile[] = []
  for (const { target, path } of programs) {
    const program = { program: target.name, command: [path] }
    const { stdout } = await run(place, { ...program, file: '--files' }, ['--files'], {}, LONGEST_MS)
    for (const file of stdout.split('\n').filter(Boolean)) files.push({ ...program, file })
  }
  return files
}

/**
 * Runs the tests of a file without a mutant.
 *
 * @param most the highest number of a mutant.
 * @throws {ToolError} if a test fails.
 */
export async function measureTestFile(test: TestFile, most: number, place: TestPlace): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-mutants-'))
  try {
    const counts = join(folder, 'run')
    writeFileSync(counts, Buffer.alloc(most + 1))
    const start = performance.now()
    const result = await run(place, test, [test.argument ?? test.file], { TENON_MUTANTS_RUN: counts }, LONGEST_MS)
    const milliseconds = performance.now() - start
    if (result.code !== 0)
      throw new ToolError(
        `${test.file} fails without a mutant (${describeEnd(result)}):\n${result.stdout}${result.stderr}`,
      )
    const bytes = readFileSync(counts)
    return { milliseconds, mutants: new Set([...bytes.keys()].filter((number) => bytes[number] === 1)) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** How the tests of some files of one program end with a mutant. */
export type Verdict = { readonly status: 'survived' | 'timeout' } | { readonly status: 'killed'; readonly by: string }

/** Runs tests with a mutant, until one fails. */
export async function tryMutant(
  number: number,
  tests: readonly TestFile[],
  limitMs: number,
  place: TestPlace,
): Promise<Verdict> {
  const names = tests.map(({ file, argument = file }) => argument)
  const result = await run(place, tests[0]!, names, { TENON_MUTANT: String(number) }, limitMs)
  if (result.exceeded !== undefined) return { status: 'timeout' }
  if (result.code === 0) return { status: 'survived' }
  const last = [...result.stdout.matchAll(/^# (.+)$/gm)].at(-1)?.[1]
  return { status: 'killed', by: last ?? tests[0]!.file }
}

function run(
  place: TestPlace,
  test: TestFile,
  names: readonly string[],
  variables: NodeJS.ProcessEnv,
  timeout: number,
): Promise<CommandResult> {
  const [file, ...args] = [...place.confinement, ...test.command, ...names]
  const env = { ...process.env, ...test.env, ...variables }
  return runCommand(file!, args, { cwd: test.directory ?? place.directory, env, timeout, outputLimit: 2 ** 22 })
}
