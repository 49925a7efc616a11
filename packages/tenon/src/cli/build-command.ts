import { basename, relative } from 'node:path'
import type { Artifact, Platform, Project, Variant } from '@tenon/build/internal'
import { buildModule, printWarning, writeModule } from './build-module.ts'
import { type BuildTool, loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import type { WrittenModule } from '../project/write-module.ts'
import { printable, printData, printTalk } from './terminal.ts'
import { UsageError } from './usage-error.ts'
import { watchProject } from './watch-project.ts'

const args = {
  target: {
    type: 'string',
    valueHint: 'platform',
    description:
      'build only the libraries, for the oldest version of a platform such as linux-arm64-gnu, or for all of tenon.config.ts',
  },
  variant: {
    type: 'enum',
    options: ['release', 'debug', 'asan'],
    description: 'how to compile; asan finds memory errors',
  },
  report: {
    type: 'boolean',
    description: 'list the declarations of the headers of a binding that are not in the module, with their reasons',
  },
  watch: { type: 'boolean', description: 'build again after every change, until the command is interrupted' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The libraries of a platform. */
interface Built {
  readonly platform: Platform
  readonly variant: Variant
  readonly artifacts: readonly Artifact[]
}

/** The command `tenon build`, which builds the libraries of a package of kernels and writes its module. */
export const buildCommand: SubCommand = defineSubCommand({
  meta: { name: 'build', description: 'Build a package of kernels: its libraries, and its module with types' },
  args,
  async run({ target, variant = 'release', report, watch, json }) {
    for (const [flag, isSet] of Object.entries({ target: target !== undefined, report, json })) {
      if (watch && isSet) throw new UsageError(`--watch cannot be combined with --${flag}`)
    }
    const tool = await loadBuildTool('build')
    if (watch) return watchProject(tool, process.cwd(), variant)
    const project = await tool.loadProject(process.cwd(), { onWarning: printWarning })
    const portable = target !== undefined
    if (report && (portable || json || project.config.binding === undefined))
      throw new UsageError('--report needs a binding in tenon.config.ts, and no --target and --json')
    const built: Built[] = []
    for (const platform of platformsOf(tool, project, target)) {
      const artifacts = await tool.buildPackage(project, { variant, platform, portable, kinds: ['shared'] })
      built.push({ platform, variant, artifacts })
      if (portable && variant === 'release') printProblems(tool, project, platform, artifacts)
    }
    const { files, binding } = portable ? { files: [] } : await writeModuleFrom(tool, project, built[0]!)
    if (json) printData(JSON.stringify(summary(project, built, files), undefined, 2))
    else if (report) for (const line of binding!.report) printData(printable(line))
    else
      printData([...built.flatMap(({ artifacts }) => artifacts.map((one) => line(project, one))), ...files].join('\n'))
  },
})

function platformsOf(tool: BuildTool, project: Project, target: string | undefined): readonly Platform[] {
  if (target === undefined) return [tool.hostPlatform]
  if (target === 'all') return project.config.platforms.map((name) => tool.findPlatform(name))
  const found = tool.platforms.find(({ name }) => name === target)
  if (found !== undefined) return [found]
  const names = tool.platforms.map(({ name }) => name)
  throw new UsageError(`--target must be all or one of ${names.join(', ')}, got ${target}`)
}

/** Writes the module, which has the signatures of the release libraries of this machine. The paths of its files are relative to the project. */
async function writeModuleFrom(
  tool: BuildTool,
  project: Project,
  { variant, artifacts }: Built,
): Promise<Pick<WrittenModule, 'files' | 'binding'>> {
  const module = await (variant === 'release' ? writeModule(project, artifacts) : buildModule(tool, project))
  return { ...module, files: module.files.map((file) => relative(project.directory, file)) }
}

/** Says early what `tenon publish` will refuse. */
function printProblems(tool: BuildTool, project: Project, platform: Platform, artifacts: readonly Artifact[]): void {
  const files = artifacts.map(({ path }) => basename(path))
  for (const artifact of artifacts) {
    const problems = tool.findReleaseProblems(artifact.path, { platform, files, builtIn: project.directory })
    for (const problem of problems)
      printTalk(`${relative(project.directory, artifact.path)} cannot be published: ${problem}`)
  }
}

const line = ({ directory }: Project, { path, rebuilt }: Artifact): string =>
  `${relative(directory, path)}${rebuilt ? '' : ' (up to date)'}`

function summary({ name, version }: Project, built: readonly Built[], files: readonly string[]): object {
  return {
    name,
    version,
    platforms: built.map(({ platform, variant, artifacts }) => ({
      name: platform.name,
      variant,
      libraries: artifacts.map(({ target, path, rebuilt }) => ({ name: target.name, path, rebuilt })),
    })),
    module: files,
  }
}
