/**
 * `pnpm release`: publishes the packages whose version is not in the registry yet. The platform packages of the other platforms
 * are filled before, where those platforms are (`native-build --package`); this one's is filled here.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { runMain, ToolError } from '@tenon/build'

import { runNativeBuild } from './lib/native.ts'
import { runTool } from './lib/run-tool.ts'
import { listPackages, type WorkspacePackage, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  if ((await runTool('turbo', ['run', 'build', 'build:native'])) !== 0) throw new ToolError('the build failed')
  const published = (await listPackages()).filter((pkg) => !pkg.private)
  for (const { directory } of withNativeTargets(published)) {
    const filled = await runNativeBuild(directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const problems = published.filter(({ platform }) => platform).flatMap(checkPlatformPackage)
  if (problems.length > 0) throw new ToolError(`Nothing was published:\n  ${problems.join('\n  ')}`)
  process.exitCode = await runTool('changeset', ['publish'])
})

/** A sentence for each library that is missing or is not the one that was built. */
function checkPlatformPackage({ name, directory }: WorkspacePackage): string[] {
  const sums = join(directory, 'lib/SHA256SUMS.json')
  if (!existsSync(sums)) return [`${name} has no libraries: run native-build --package on its platform`]
  const expected = Object.entries(JSON.parse(readFileSync(sums, 'utf8')) as Record<string, string>)
  return expected.flatMap(([file, sum]) => {
    const path = join(directory, 'lib', file)
    if (!existsSync(path)) return [`${name} lacks ${file}`]
    const actual = createHash('sha256').update(readFileSync(path)).digest('hex')
    return actual === sum ? [] : [`${name} has a ${file} that is not the one of SHA256SUMS.json`]
  })
}
