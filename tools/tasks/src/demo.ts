/** `pnpm demo`: builds what the demo needs, and runs it. */
import { runMain, ToolError } from '@tenon/native-build'

import { runTool, runVisibly } from './lib/run-tool.ts'

const directory = 'examples/demo'

await runMain(async () => {
  const options = [`--filter=./${directory}...`, '--output-logs=errors-only']
  const built = await runTool('turbo', ['run', 'build', 'build:native', ...options])
  if (built !== 0) throw new ToolError('the build failed')
  process.exitCode = await runVisibly('pnpm', ['--silent', `--dir=${directory}`, 'run', 'demo'])
})
