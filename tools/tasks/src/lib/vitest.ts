import { join } from 'node:path'

import { root } from './root.ts'
import { runVisibly } from './run-tool.ts'
import { planTasks } from './turbo.ts'

/** A package whose tests vitest runs. */
export interface TestedPackage {
  readonly name: string
  /** Absolute. */
  readonly directory: string
}

/** The packages and examples that have tests; the tools are not among them. */
export async function listTestedPackages(args: readonly string[] = []): Promise<TestedPackage[]> {
  const tasks = await planTasks(['test'], args)
  return tasks
    .filter(({ task, directory }) => task === 'test' && !directory.startsWith('tools/'))
    .map(({ package: name, directory }) => ({ name, directory: join(root, directory) }))
}

/** Runs vitest in a package, without turbo and its cache, and leaves a report of its own at `report`. */
export function runVitest(
  { directory }: TestedPackage,
  report: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const script = join(root, 'tools/config/src/bin/vitest.ts')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  return runVisibly(process.execPath, [script, 'run', ...reporters, ...args], { cwd: directory, env })
}
