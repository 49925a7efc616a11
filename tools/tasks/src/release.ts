/**
 * The command `pnpm release`, which publishes the packages whose version is not in the registry yet. It fills the platform
 * package of this platform. Those of the others must have been filled on their platforms with `native-build --package`.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { runMain, ToolError } from '@tenon/build'

import { runNativeBuild } from './lib/native.ts'
import { runTool } from './lib/run-tool.ts'
import { build } from './lib/turbo.ts'
import { listPackages, type WorkspacePackage, withNativeTargets } from './lib/workspace.ts'

await runMain(async () => {
  await build()
  const published = (await listPackages()).filter((pkg) => !pkg.private)
  for (const { directory } of withNativeTargets(published)) {
    const filled = await runNativeBuild(directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const problems = published.filter(({ platform }) => platform).flatMap(checkPlatformPackage)
  if (problems.length > 0) throw new ToolError(`Nothing was published:\n  ${problems.join('\n  ')}`)
  process.exitCode = await runTool('changeset', ['publish'])
})

function checkPlatformPackage({ name, directory }: WorkspacePackage): string[] {
  const sums = join(directory, 'lib/SHA256SUMS.json')
  if (!existsSync(sums)) return [`${name} has no libraries. Run native-build --package on its platform.`]
  const expected = Object.entries(JSON.parse(readFileSync(sums, 'utf8')) as Record<string, string>)
  return expected.flatMap(([file, sum]) => {
    const path = join(directory, 'lib', file)
    if (!existsSync(path)) return [`${name} does not contain ${file}`]
    const actual = createHash('sha256').update(readFileSync(path)).digest('hex')
    return actual === sum ? [] : [`${name} contains a ${file} that does not match SHA256SUMS.json`]
  })
}
