/** `pnpm demo`: builds what the demo needs, and runs it. */
import { runMain, ToolError } from '@tenon/native-build'

import { runTool, runVisibly } from './lib/run-tool.ts'

await runMain(async () => {
  const filter = '--filter=@tenon/demo...'
  const built = await runTool('turbo', ['run', 'build', 'build:native', filter, '--output-logs=errors-only'])
  if (built !== 0) throw new ToolError('the build failed')
  process.exitCode = await runVisibly('pnpm', ['--silent', '--filter=@tenon/demo', 'run', 'demo'])
})
