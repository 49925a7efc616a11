/**
 * The command `pnpm version-packages`, which raises the versions and writes the changelogs from the files in `.changeset`. The changelog of
 * the umbrella links to those of its parts, and does not repeat them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import { runMain, ToolError } from '@tenon/build'

import { runTool } from './lib/run-tool.ts'
import { listPackages } from './lib/workspace.ts'
import { linkParts, type PartChanges } from './release/release-notes.ts'

await runMain(async () => {
  if ((await runTool('changeset', ['version'])) !== 0) throw new ToolError('the versions could not be raised')
  const packages = (await listPackages()).filter((pkg) => !pkg.private && !pkg.platform)
  const umbrella = packages.find(({ name }) => name === 'tenon')!
  const parts = packages.flatMap(({ name, directory }): PartChanges[] => {
    const path = join(directory, 'CHANGELOG.md')
    if (name === 'tenon' || !existsSync(path)) return []
    const relativeDirectory = relative(umbrella.directory, directory).replaceAll('\\', '/')
    return [
      { name, version: versionIn(directory), directory: relativeDirectory, changelog: readFileSync(path, 'utf8') },
    ]
  })
  const changelog = join(umbrella.directory, 'CHANGELOG.md')
  if (!existsSync(changelog)) return
  writeFileSync(changelog, linkParts(readFileSync(changelog, 'utf8'), versionIn(umbrella.directory), parts))
})

function versionIn(directory: string): string {
  return (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string }).version
}
