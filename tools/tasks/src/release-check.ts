/**
 * The command `pnpm release:check PATH...`, which reads packages as they would be published, and says why they must not be. A path is a
 * tarball, a folder of tarballs, or an unpacked package. Nothing is built, loaded or run.
 */
import { join } from 'node:path'

import { loadPackage, runMain, ToolError } from '@tenon/build'

import { releasedPlatforms } from './lib/platforms.ts'
import { readProject } from './lib/project.ts'
import { root } from './lib/root.ts'
import { findReleaseFaults } from './release/check-release.ts'
import { readReleasePackages } from './release/release-package.ts'

await runMain(async () => {
  const paths = process.argv.slice(2)
  if (paths.length === 0) throw new ToolError('pnpm release:check needs a tarball, or a folder of tarballs')
  const packages = readReleasePackages(paths)
  const { native } = await loadPackage(join(root, 'packages/core'))
  const platforms = releasedPlatforms().map(({ name }) => name)
  const faults = findReleaseFaults(packages, { project: readProject(), native, platforms })
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  if (faults.length > 0)
    throw new ToolError(
      `Of ${packages.length} packages, none may be published: ${faults.length === 1 ? 'a rule is' : `${faults.length} rules are`} broken`,
    )
  process.stdout.write(`${packages.length} packages can be published\n`)
})
