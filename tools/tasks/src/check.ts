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

await runMain(async () => {
  const rows: string[] = []
  for (const { name, run } of chooseChecks(process.argv.slice(2))) {
    const started = performance.now()
    const { problems, note } = await run()
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    rows.push(
      `${name.padEnd(12)} ${problems.length === 0 ? 'ok    ' : 'FAILED'} ${seconds.padStart(5)} s  ${note ?? ''}`,
    )
    for (const problem of problems) process.stdout.write(`${name}: ${problem.trimEnd()}\n`)
    if (problems.length > 0) process.exitCode = 1
  }
  process.stdout.write(`\n${rows.map((row) => row.trimEnd()).join('\n')}\n`)
})

function chooseChecks(names: readonly string[]): readonly Check[] {
  const unknown = names.find((name) => !checks.some((check) => check.name === name))
  if (unknown)
    throw new ToolError(`There is no check ${unknown}. The checks are ${checks.map(({ name }) => name).join(', ')}.`)
  return names.length === 0 ? checks : checks.filter(({ name }) => names.includes(name))
}
