/** The command `pnpm demo`, which builds the example programs and runs them. */
import { runMain, ToolError } from '@tenon/build'

import { runVisibly } from './lib/run-tool.ts'
import { build } from './lib/turbo.ts'

const programs = [
  ['examples/demo', 'demo'],
  ['examples/search', 'search'],
  ['examples/isolation', 'isolation'],
] as const

await runMain(async () => {
  await build(programs.map(([directory]) => `--filter=./${directory}...`))
  for (const [directory, script] of programs) {
    const code = await runVisibly('pnpm', ['--silent', `--dir=${directory}`, 'run', script])
    if (code !== 0) throw new ToolError(`${directory} failed with exit code ${code}`)
  }
})
