/**
 * The command `pnpm release:pack DIRECTORY`, which builds the packages and writes what is published of them as tarballs, and their bill of
 * materials, `sbom.cdx.json`. The package of each released platform must have its libraries, from `pnpm release:native`. With `--here`, the only
 * platform is that of this machine, whose libraries need its own glibc.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'

import { build } from './lib/turbo.ts'
import { packRelease } from './release/pack-release.ts'
import { writeSbom } from './release/sbom.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { here: { type: 'boolean' } } })
  const [directory, ...more] = positionals
  if (directory === undefined || more.length > 0) throw new ToolError('pnpm release:pack needs one directory')
  await build([], values.here ? ['build', 'build:native'] : ['build'])
  const packages = await packRelease(directory, values.here === true)
  await writeSbom(join(directory, 'sbom.cdx.json'), packages)
  for (const { path } of packages) process.stdout.write(`${path}\n`)
})
