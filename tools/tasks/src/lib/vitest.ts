import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { explainExitCode, readReport, type TestSummary } from './reports.ts'
import { root } from './root.ts'
import { runVisibly } from './run-tool.ts'
import { planTasks } from './turbo.ts'

export interface TestedPackage {
  readonly name: string
  readonly directory: string
}

/** Lists the packages and examples that have tests. The tools are not included. */
export async function listTestedPackages(args: readonly string[] = []): Promise<TestedPackage[]> {
  const tasks = await planTasks(['test'], args)
  return tasks
    .filter(({ task, directory }) => task === 'test' && !directory.startsWith('tools/'))
    .map(({ package: name, directory }) => ({ name, directory: join(root, directory) }))
}

/**
 * Runs vitest in a package, without turbo and its cache, and reads its report, which is written to `reports/<name>.json`.
 */
export async function runVitest(
  { name, directory }: TestedPackage,
  reportName: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<TestSummary> {
  const report = join(directory, `reports/${reportName}.json`)
  rmSync(report, { force: true })
  const script = join(root, 'tools/config/src/bin/vitest.ts')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const code = await runVisibly(process.execPath, [script, 'run', ...reporters, ...args], {
    cwd: directory,
    env,
  })
  return explainExitCode(readReport(report, name), code, `${name}: vitest`)
}
