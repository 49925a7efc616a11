/** The command `pnpm check [names]`, which runs all checks other than tests, and prints a table of their results. */
import { runMain, ToolError } from '@tenon/build'

import type { Check } from './checks/check.ts'
import { coreFunctionsCheck } from './checks/core-functions.ts'
import { documentedCheck } from './checks/documented.ts'
import { errorPagesCheck } from './checks/error-pages.ts'
import { fileLengthCheck } from './checks/file-length.ts'
import { linksCheck } from './checks/links.ts'
import { nativeCheck } from './checks/native.ts'
import { packagesCheck } from './checks/packages.ts'
import { picturesCheck } from './checks/pictures.ts'
import { publicNamesCheck } from './checks/public-names.ts'
import { platformsCheck } from './checks/platforms.ts'
import { toolCheck } from './checks/tool-check.ts'
import { workflowsCheck } from './checks/workflows.ts'
import { inLanes } from './lib/in-lanes.ts'

const checks: readonly Check[] = [
  toolCheck('types', 'tsc', ['-p', 'tsconfig.json']),
  toolCheck('lint', 'oxlint', ['--deny-warnings']),
  toolCheck('format', 'oxfmt', ['--check']),
  toolCheck('unused', 'knip', []),
  nativeCheck,
  coreFunctionsCheck,
  packagesCheck,
  fileLengthCheck,
  documentedCheck,
  publicNamesCheck,
  errorPagesCheck,
  linksCheck,
  picturesCheck,
  platformsCheck,
  workflowsCheck,
]

/** The checks that build the same files. They run one after another, and the others beside them. */
const building: ReadonlySet<Check> = new Set([nativeCheck, packagesCheck])

await runMain(async () => {
  const chosen = chooseChecks(process.argv.slice(2))
  const rows = new Map<Check, string>()
  const lanes = [chosen.filter((check) => building.has(check)), chosen.filter((check) => !building.has(check))]
  await inLanes(lanes, async (lane) => {
    for (const check of lane) rows.set(check, await runCheck(check))
  })
  process.stdout.write(`\n${chosen.map((check) => rows.get(check)).join('\n')}\n`)
})

/** Runs a check, and prints its problems. @returns its row of the table */
async function runCheck({ name, run }: Check): Promise<string> {
  const started = performance.now()
  const { problems, note } = await run()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  for (const problem of problems) process.stdout.write(`${name}: ${problem.trimEnd()}\n`)
  if (problems.length > 0) process.exitCode = 1
  const state = problems.length === 0 ? 'ok    ' : 'FAILED'
  return `${name.padEnd(12)} ${state} ${seconds.padStart(5)} s  ${note ?? ''}`.trimEnd()
}

function chooseChecks(names: readonly string[]): readonly Check[] {
  const unknown = names.find((name) => !checks.some((check) => check.name === name))
  if (unknown)
    throw new ToolError(`There is no check ${unknown}. The checks are ${checks.map(({ name }) => name).join(', ')}.`)
  return names.length === 0 ? checks : checks.filter(({ name }) => names.includes(name))
}
