/** `pnpm demo`: builds what the example programs need, and runs them. */
import { runMain, ToolError } from '@tenon/build'

import { runTool, runVisibly } from './lib/run-tool.ts'

/** The programs that are shown, by the folder and the script of each. */
const programs = [
  ['examples/demo', 'demo'],
  ['examples/search', 'search'],
] as const

await runMain(async () => {
  const filters = programs.map(([directory]) => `--filter=./${directory}...`)
  const built = await runTool('turbo', ['run', 'build', 'build:native', ...filters, '--output-logs=errors-only'])
  if (built !== 0) throw new ToolError('the build failed')
  for (const [directory, script] of programs) {
    const code = await runVisibly('pnpm', ['--silent', `--dir=${directory}`, 'run', script])
    if (code !== 0) throw new ToolError(`${directory} failed with exit code ${code}`)
  }
})
