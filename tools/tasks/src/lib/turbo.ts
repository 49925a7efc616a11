import { ToolError } from '@tenon/build'

import { captureTool, runTool } from './run-tool.ts'

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

/** @throws {ToolError} if the build fails. */
export async function build(
  args: readonly string[] = [],
  tasks: readonly string[] = ['build', 'build:native'],
): Promise<void> {
  if ((await runTool('turbo', ['run', ...tasks, '--output-logs=errors-only', ...args])) !== 0)
    throw new ToolError('the build failed')
}
