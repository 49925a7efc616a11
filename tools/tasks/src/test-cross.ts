/**
 * The command `pnpm test:cross [files]`, which compiles for other platforms with zig and reads what was built. zig is 355 MB, so it
 * is installed below `node_modules/.cache` at first use, and is not part of `pnpm test`. `TENON_ZIG` names another one.
 */
import { join } from 'node:path'

import { runMain } from '@tenon/build'
import { installZig } from '@tenon/config/zig'

import { addSummaries, printCounts, printSummary, type TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { build } from './lib/turbo.ts'
import { runVitest } from './lib/vitest.ts'

await runMain(async () => {
  await build(['--filter=@tenon/core', '--filter=@tenon/build'])
  const env = { TENON_CROSS: '1', TENON_ZIG: process.env['TENON_ZIG'] || installZig() }
  const files = process.argv.slice(2)
  const args = [...(files.length > 0 ? files : ['test/cross/']), '--testTimeout=600000', '--passWithNoTests']
  const summaries: TestSummary[] = []
  for (const name of ['build', 'bind']) {
    const tested = { name: `@tenon/${name} (cross)`, directory: join(root, 'packages', name) }
    summaries.push(printCounts(await runVitest(tested, 'cross', args, env), tested.name))
  }
  printSummary(addSummaries(summaries))
})
