import { stripVTControlCharacters } from 'node:util'

import { ToolError } from '@tenon/build'

import { showProgress } from './progress.ts'
import { captureTool, readTool, runTool } from './run-tool.ts'

export interface PlannedTask {
  readonly package: string
  readonly task: string
  /** Relative to the root. */
  readonly directory: string
}

/** Cached tasks are included. @throws {ToolError} with turbo's message if it fails. */
export async function planTasks(tasks: readonly string[], args: readonly string[] = []): Promise<PlannedTask[]> {
  const result = await captureTool('turbo', ['run', ...tasks, '--dry=json', ...args])
  if (result.code !== 0) throw new ToolError(`turbo could not plan ${tasks.join(', ')}:\n${result.stderr}`)
  const plan = JSON.parse(result.stdout) as { tasks: (PlannedTask & { command: string })[] }
  return plan.tasks
    .filter(({ command }) => command !== '<NONEXISTENT>')
    .map(({ package: name, task, directory }) => ({ package: name, task, directory }))
}

/** Builds packages, and shows the step that runs. @throws {ToolError} if the build fails. */
export async function build(
  args: readonly string[] = [],
  tasks: readonly string[] = ['build', 'build:native'],
): Promise<void> {
  const run = ['run', ...tasks, ...args]
  const progress = showProgress(process.stderr, 'building')
  const code = await readTool('turbo', [...run, '--output-logs=hash-only'], (line) => {
    const task = startedTask(line)
    if (task !== undefined) progress.step(task)
  }).finally(() => progress.end())
  if (code === 0) return
  // Runs what failed once more, with its messages.
  if ((await runTool('turbo', [...run, '--output-logs=errors-only'])) !== 0) throw new ToolError('the build failed')
}

/** The task that a line of turbo says to run, such as `@tenon/core:build:native`. Those in the cache take no time. */
export const startedTask = (line: string): string | undefined =>
  /^(\S+): cache (?:miss|bypass), /.exec(stripVTControlCharacters(line))?.[1]
