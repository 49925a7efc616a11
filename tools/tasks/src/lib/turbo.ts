import { ToolError } from '@tenon/build'

import { captureTool } from './run-tool.ts'

/** A task of turbo's graph that has a command. */
export interface PlannedTask {
  readonly package: string
  readonly task: string
  /** Relative to the root. */
  readonly directory: string
}

/**
 * What `turbo run` would do, cached or not: the tasks that were asked for and those they depend on.
 *
 * @throws {ToolError} with turbo's words if it refuses.
 */
export async function planTasks(tasks: readonly string[], args: readonly string[] = []): Promise<PlannedTask[]> {
  const result = await captureTool('turbo', ['run', ...tasks, '--dry=json', ...args])
  if (result.code !== 0) throw new ToolError(`turbo could not plan ${tasks.join(', ')}:\n${result.stderr}`)
  const plan = JSON.parse(result.stdout) as { tasks: (PlannedTask & { command: string })[] }
  return plan.tasks
    .filter(({ command }) => command !== '<NONEXISTENT>')
    .map(({ package: name, task, directory }) => ({ package: name, task, directory }))
}
