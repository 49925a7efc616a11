/**
 * The command `pnpm release`, which publishes the packages whose version is not in the registry yet. It fills the platform
 * package of this platform. Those of the others must have been filled on their platforms with `tenon-build --package`.
 */
import { runMain, ToolError } from '@tenon/build'

import { runNativeBuild } from './lib/native.ts'
import { findPlatformProblems } from './lib/platform-packages.ts'
import { runTool } from './lib/run-tool.ts'
import { build } from './lib/turbo.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  await build()
  const published = (await listPackages()).filter((pkg) => !pkg.private)
  for (const { directory } of withNativeTargets(published)) {
    const filled = await runNativeBuild(directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const problems = await findPlatformProblems(published)
  if (problems.length > 0) throw new ToolError(`Nothing was published:\n  ${problems.join('\n  ')}`)
  process.exitCode = await runTool('changeset', ['publish'])
})
