/**
 * The command `pnpm release:bootstrap`, which a maintainer runs once for each new name of a package: it publishes an empty version of names
 * that npm does not have, and prints for which names a trusted publisher is to be set up. It refuses to run in CI.
 */
import { relative } from 'node:path'

import { runMain } from '@tenon/build'

import { releasedPlatforms } from './lib/platforms.ts'
import { readProject } from './lib/project.ts'
import { root } from './lib/root.ts'
import { withoutNpm } from './lib/run-tool.ts'
import { publicPackages } from './lib/workspace.ts'
import { bootstrapNames } from './release/bootstrap.ts'

await runMain(async () => {
  const packages = await publicPackages(releasedPlatforms().map(({ name }) => name))
  const names = packages.map(({ name, directory }) => ({
    name,
    directory: relative(root, directory).replaceAll('\\', '/'),
  }))
  const tell = (line: string): void => void process.stdout.write(`${line}\n`)
  const publishers = bootstrapNames(names, readProject(), withoutNpm(process.env), tell)
  tell('\nSet up a trusted publisher for each name, then revoke the token:')
  publishers.forEach(tell)
})
