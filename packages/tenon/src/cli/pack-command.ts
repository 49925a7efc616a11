import { relative } from 'node:path'
import type { KernelPackage } from '@tenon/build/internal'
import { findBuilds, type FoundBuilds } from '../pack/find-builds.ts'
import { packProject, type PackedPackage } from '../pack/pack-project.ts'
import { findPrebuilt } from '../pack/prebuilt.ts'
import { printLeft } from './build-module.ts'
import { type BuildTool, loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { alignColumns, printData, printTalk } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  library: {
    type: 'string',
    valueHint: 'libk.so',
    repeatable: true,
    description: 'a library that another build tool has made, in a folder without tenon.config.ts',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon pack`, which writes the npm packages of a package of kernels. */
export const packCommand: SubCommand = defineSubCommand({
  meta: {
    name: 'pack',
    description: 'Write the npm packages of a package of kernels to dist/npm: one, and one for each platform',
  },
  args,
  async run({ library, json }) {
    const tool = await loadBuildTool('pack')
    const { project, ...found } =
      library.length > 0 ? prebuilt(tool, process.cwd(), library) : await built(tool, process.cwd())
    const { packages, module } = await packProject(tool, project, found)
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
    printLeft(module)
    if (found.missing.length > 0) {
      const names = found.missing.map(({ name }) => name).join(', ')
      printTalk(`left out, because they are not built: ${names}\nhint: Run tenon build --target all, and pack again.`)
    }
  },
})

/** The package to pack, and the platforms for which it is not built. */
interface Packed extends FoundBuilds {
  readonly project: KernelPackage
}

async function built(tool: BuildTool, directory: string): Promise<Packed> {
  const project = await tool.loadProject(directory)
  return { project, ...(await findBuilds(tool, project)) }
}

function prebuilt(tool: BuildTool, directory: string, files: readonly string[]): Packed {
  if (tool.hasConfig(directory)) {
    throw new UsageError(
      '--library cannot be combined with tenon.config.ts, whose libraries tenon build makes',
      'Add the sources to tenon.config.ts, or delete it.',
    )
  }
  return { ...findPrebuilt(tool, directory, files), missing: [] }
}

const byteSizeOf = ({ files }: PackedPackage): number =>
  [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
