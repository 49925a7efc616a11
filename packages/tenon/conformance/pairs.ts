import { spawn } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check, type Outcome } from '@tenon/config/conformance'
import { cookbook, root } from '../test/reader.ts'

/** The names of libraries, by those of their programs. */
export type Libraries = Readonly<Record<string, string>>

/** A line that a program prints for a check. */
interface Printed {
  readonly lifetimes?: number
  readonly way?: 'toTenon' | 'fromTenon'
  readonly layout?: string
  readonly promised?: string
  readonly closed?: string
  readonly left?: string
  readonly other?: string
  readonly problem?: string
}

const directions = { toTenon: 'to Tenon', fromTenon: 'from Tenon' }
const layouts = ['contiguous', 'transposed', 'sliced', 'reversed', 'no elements', '0-d']

const programs = fileURLToPath(new URL('programs', import.meta.url))
const page = join(root, cookbook, 'README.md')

/** Runs a program, and returns what it printed. @throws {Error} if it ends in another way than by itself */
async function run(directory: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<Printed[]> {
  const child = spawn(process.execPath, ['--expose-gc', '--no-warnings', ...args], {
    cwd: directory,
    env,
    timeout: 300_000,
  })
  const [stdout, stderr, end] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    new Promise<unknown>((resolve, reject) =>
      child.on('error', reject).on('close', (code, signal) => resolve(signal ?? code)),
    ),
  ])
  if (end !== 0) throw new Error(`${args.join(' ')} ended with ${String(end)}\n${stdout.join('')}${stderr.join('')}`)
  const lines = stdout.join('').split('\n')
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Printed)
}

/** Adds what a program printed to the outcomes. */
async function checkAll(library: string, printed: readonly Printed[], outcomes: Outcome[]): Promise<void> {
  for (const { way, layout, closed, other, problem } of printed) {
    const name = closed ?? other ?? `${directions[way!]}, ${layout}`
    outcomes.push(
      await check(`${library}: ${name}`, () => {
        if (problem !== undefined) throw new Error(problem)
      }),
    )
  }
}

/**
 * Checks what Tenon and each library promise each other, and that the tables of the cookbook say so.
 *
 * @param directory the folder of a reader with the libraries. @param env the environment of the programs.
 */
export async function checkPairs(
  directory: string,
  libraries: Libraries,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Outcome[]> {
  for (const name of readdirSync(programs)) copyFileSync(join(programs, name), join(directory, name))
  const outcomes: Outcome[] = []
  const rows: string[] = []
  for (const [name, library] of Object.entries(libraries)) {
    const program = `pair-${name}.ts`
    const ended: Printed[] = []
    outcomes.push(
      await check(`${library}: the programs run to their end`, async () => {
        const [first, ...cells] = await run(directory, env, [program])
        ended.push(...cells)
        for (let i = 0; i < first!.lifetimes!; i++) ended.push(...(await run(directory, env, [program, String(i)])))
      }),
    )
    await checkAll(library, ended, outcomes)
    rows.push(...rowsOf(library, ended))
    for (const { closed, left } of ended) if (closed !== undefined) rows.push(`| ${library} | ${closed} | ${left} |`)
  }
  outcomes.push(await check('the tables of the cookbook', () => compareTables(rows, libraries)))
  return outcomes
}

/** The two rows of a library: its tensors in Tenon, and Tenon's in it. */
const rowsOf = (library: string, printed: readonly Printed[]): string[] =>
  Object.entries(directions).map(([way, direction]) => {
    const words = new Map(printed.filter((one) => one.way === way).map(({ layout, promised }) => [layout, promised]))
    return `| ${[library, direction, ...layouts.map((layout) => words.get(layout) ?? '')].join(' | ')} |`
  })

/** @throws {Error} with the rows that the page lacks, and those that it should not have */
function compareTables(rows: readonly string[], libraries: Libraries): void {
  const squeezed = (row: string): string => row.replaceAll(/ +/g, ' ').trim()
  const names = Object.values(libraries)
  const isRow = (line: string): boolean => names.some((name) => line.startsWith(`| ${name} |`))
  const onPage = readFileSync(page, 'utf8').split('\n').map(squeezed).filter(isRow)
  const made = rows.map(squeezed)
  const differences = [
    ...made.filter((row) => !onPage.includes(row)).map((row) => `+ ${row}`),
    ...onPage.filter((row) => !made.includes(row)).map((row) => `- ${row}`),
  ]
  if (differences.length > 0) throw new Error(`docs/cookbook/README.md must change:\n${differences.join('\n')}`)
}
