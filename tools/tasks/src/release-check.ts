/**
 * The command `pnpm release:check PATH...`, which reads packages as they would be published, and says why they must not be. A path is a
 * tarball, a folder of tarballs, or an unpacked package. Reports of other code than that of the checkout are refused, too. Nothing is built,
 * loaded or run.
 */
import { join } from 'node:path'

import { runMain, ToolError } from '@tenon/build'

import { findStaleReports } from './lib/published-reports.ts'
import { root } from './lib/root.ts'
import { findReleaseFaults, readReleaseCheck } from './release/check-release.ts'
import { readReleasePackages } from './release/release-packages.ts'

await runMain(async () => {
  const paths = process.argv.slice(2)
  if (paths.length === 0) throw new ToolError('pnpm release:check needs a tarball, or a folder of tarballs')
  const packages = await readReleasePackages(paths)
  const faults = [
    ...findReleaseFaults(packages, await readReleaseCheck()),
    ...findStaleReports(join(root, 'docs/reports')),
  ]
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  if (faults.length > 0)
    throw new ToolError(
      `Of ${packages.length} packages, none may be published: ${faults.length === 1 ? 'a rule is' : `${faults.length} rules are`} broken`,
    )
  process.stdout.write(`${packages.length} packages can be published\n`)
})
