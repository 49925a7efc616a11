/**
 * The command `pnpm test:arrow`, which follows the page docs/cookbook/arrow-duckdb.md with DuckDB's C library, and passes values of all types in
 * both directions, and reads streams of its ADBC driver. With `--measure` it also passes 1 GB from DuckDB through a kernel to DuckDB, directly and through bytes of Arrow's IPC
 * format, and prints the times and the largest resident memory.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, report, type Outcome } from '@tenon/config/conformance'
import { makeProject } from './page.ts'

/** Runs a program of a project, and returns what it printed. @throws {Error} with what it printed to stderr */
function run(directory: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', program, ...args], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

/** Copies a program of this folder to a project, where it finds the functions of the page. */
function copy(directory: string, name: string): string {
  copyFileSync(fileURLToPath(new URL(`programs/${name}`, import.meta.url)), join(directory, name))
  return name
}

const directory = makeProject()
try {
  const outcomes: Outcome[] = [
    await check('the program of the page', () => {
      const printed = run(directory, 'main.ts')
      if (printed !== '[ 50010000 ] [ 10000n ]') throw new Error(`it printed ${printed}`)
    }),
  ]
  copy(directory, 'adbc.ts')
  for (const line of run(directory, copy(directory, 'types.ts')).split('\n'))
    outcomes.push(
      await check(line.replace(/^\w+ /, ''), () => {
        if (!line.startsWith('passed ')) throw new Error(line)
      }),
    )
  if (process.argv.includes('--measure')) {
    const program = copy(directory, 'measure.ts')
    run(directory, program, 'prepare')
    for (const way of ['direct', 'ipc', 'direct', 'ipc']) process.stdout.write(`${run(directory, program, way)}\n`)
  }
  report(outcomes)
} finally {
  rmSync(directory, { recursive: true })
}
