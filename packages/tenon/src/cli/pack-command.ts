import { relative } from 'node:path'
import { findBuilds } from '../pack/find-builds.ts'
import { packProject, type PackedPackage } from '../pack/pack-project.ts'
import { loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { alignColumns, printable, printData, printTalk } from './terminal.ts'

const args = {
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon pack`, which writes the npm packages of a package of kernels. */
export const packCommand: SubCommand = defineSubCommand({
  meta: {
    name: 'pack',
    description: 'Write the npm packages of a package of kernels to dist/npm: one, and one for each platform',
  },
  args,
  async run({ json }) {
    const tool = await loadBuildTool('pack')
    const project = await tool.loadProject(process.cwd())
    const found = await findBuilds(tool, project)
    const { packages, module } = packProject(tool, project, found)
    if (json) {
      const { name, version } = project
      const missing = found.missing.map((platform) => platform.name)
      const listed = packages.map((pkg) => ({
        name: pkg.name,
        path: pkg.directory,
        byteSize: byteSizeOf(pkg),
        files: [...pkg.files.keys()],
      }))
      printData(JSON.stringify({ name, version, exports: module.names, packages: listed, missing }, undefined, 2))
    } else {
      const rows = packages.map((pkg) => [
        relative(project.directory, pkg.directory),
        `${(byteSizeOf(pkg) / 1000).toFixed(1)} kB`,
      ])
      for (const line of alignColumns(rows)) printData(line)
    }
    for (const { reason, names } of module.left)
      printTalk(`left out, because ${reason}: ${printable(names.join(', '))}`)
    if (found.missing.length > 0) {
      const names = found.missing.map(({ name }) => name).join(', ')
      printTalk(`left out, because they are not built: ${names}\nhint: Run tenon build --target all, and pack again.`)
    }
  },
})

const byteSizeOf = ({ files }: PackedPackage): number =>
  [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
