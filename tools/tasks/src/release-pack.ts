/**
 * The command `pnpm release:pack DIRECTORY`, which builds the packages and writes what is published of them as tarballs. The package of
 * each released platform must have its libraries, from `pnpm release:native`. With `--here`, the only platform is that of this machine,
 * whose libraries need its own glibc.
 */
import { parseArgs } from 'node:util'

import { hostPlatform, runMain, ToolError } from '@tenon/build'

import { runNativeBuild } from './lib/native.ts'
import { findPlatformProblems } from './lib/platform-packages.ts'
import { releasedPlatforms } from './lib/platforms.ts'
import { build } from './lib/turbo.ts'
import { listPackages, withNativeTargets } from './lib/workspace.ts'
import { packRelease, writePackage } from './release/pack-release.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { here: { type: 'boolean' } } })
  const [directory, ...more] = positionals
  if (directory === undefined || more.length > 0) throw new ToolError('pnpm release:pack needs one directory')
  await build([], values.here ? ['build', 'build:native'] : ['build'])
  const platforms = values.here ? [hostPlatform.name] : releasedPlatforms().map(({ name }) => name)
  const sources = (await listPackages()).filter(
    ({ private: isPrivate, platform }) => !isPrivate && (!platform || platforms.some((one) => one === platform)),
  )
  for (const source of values.here ? withNativeTargets(sources) : []) {
    const filled = await runNativeBuild(source.directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const problems = await findPlatformProblems(sources)
  if (problems.length > 0) throw new ToolError(`Nothing was packed:\n  ${problems.join('\n  ')}`)
  for (const { package: pkg } of await packRelease(sources, platforms))
    process.stdout.write(`${writePackage(pkg, directory)}\n`)
})
