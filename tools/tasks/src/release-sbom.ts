/** The command `pnpm release:sbom DIRECTORY`, which writes sbom.cdx.json, the bill of materials of the tarballs in a folder. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { runMain, ToolError } from '@tenon/build'

import { capturePnpm } from './lib/run-tool.ts'
import { listPackages } from './lib/workspace.ts'
import { readTarballs } from './release/release-tarballs.ts'
import { completeSbom, findMissingComponents, type Sbom } from './release/sbom.ts'

await runMain(async () => {
  const [directory, ...more] = process.argv.slice(2)
  if (directory === undefined || more.length > 0) throw new ToolError('pnpm release:sbom needs one folder of tarballs')
  const tarballs = readTarballs(directory)
  const workspace = await listPackages()
  const filters = workspace.filter((pkg) => !pkg.private && !pkg.platform).map(({ name }) => `--filter=${name}`)
  const listed = await capturePnpm(['sbom', '--sbom-format', 'cyclonedx', '--prod', ...filters])
  if (listed.code !== 0) throw new ToolError(`pnpm could not list the dependencies:\n${listed.stderr}`)
  const names = workspace.map(({ name }) => name)
  const sbom = completeSbom(JSON.parse(listed.stdout) as Sbom, tarballs, names)
  const missing = findMissingComponents(sbom, tarballs)
  if (missing.length > 0) throw new ToolError(missing.join('\n'))
  const path = join(directory, 'sbom.cdx.json')
  writeFileSync(path, `${JSON.stringify(sbom, undefined, 2)}\n`)
  process.stdout.write(`${path}: ${sbom.components.length} components\n`)
})
