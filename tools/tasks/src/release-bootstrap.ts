/**
 * The command `pnpm release:bootstrap`, which a maintainer runs once for each new name of a package: it publishes an empty version of names
 * that npm does not have, and prints for which names a trusted publisher is to be set up. It refuses to run in CI.
 */
import { relative } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'

import { releasedPlatforms } from './lib/platforms.ts'
import { readProject } from './lib/project.ts'
import { root } from './lib/root.ts'
import { listPackages } from './lib/workspace.ts'
import { bootstrapNames } from './release/bootstrap.ts'
import { npmRegistry, npmUrl } from './release/npm-registry.ts'

await runMain(async () => {
  const { values } = parseArgs({ options: { registry: { type: 'string', default: npmUrl } } })
  const platforms = releasedPlatforms().map(({ name }) => name)
  const packages = (await listPackages()).filter(
    ({ private: isPrivate, platform }) => !isPrivate && (!platform || platforms.some((one) => one === platform)),
  )
  const tell = (line: string): void => void process.stdout.write(`${line}\n`)
  const publishers = await bootstrapNames(
    packages.map(({ name, directory }) => ({ name, directory: relative(root, directory).replaceAll('\\', '/') })),
    {
      project: readProject(),
      registry: npmRegistry(values.registry, false),
      hasName: (name) => hasName(values.registry, name),
      environment: process.env,
      tell,
    },
  )
  tell('\nSet up a trusted publisher for each name, then revoke the token:')
  for (const publisher of publishers) tell(publisher)
})

async function hasName(registry: string, name: string): Promise<boolean> {
  const { status } = await fetch(`${registry.replace(/\/$/, '')}/${name.replace('/', '%2f')}`, { method: 'HEAD' })
  if (status === 200 || status === 404) return status === 200
  throw new ToolError(`${registry} answered ${status} for ${name}`)
}
