import { findProjectProblems } from '../pack/check-packages.ts'
import { platformPackageName } from '../pack/manifests.ts'
import { packedFrom } from '../pack/prebuilt.ts'
import { readPackages } from '../pack/pack-project.ts'
import { loadBuildTool } from './build-tool.ts'
import type { Definition } from './definition.ts'
import { InputError } from './input-error.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData, printTalk } from './terminal.ts'
import { UsageError } from './usage-error.ts'

const args = {
  'dry-run': { type: 'boolean', description: 'check the packages, and publish nothing' },
  registry: { type: 'string', valueHint: 'url', description: "the registry; by default that of npm's configuration" },
  tag: {
    type: 'string',
    valueHint: 'next',
    description: 'the tag under which users find the version; by default latest, or next for 1.0.0-beta.1',
  },
  access: {
    type: 'enum',
    options: ['public', 'restricted'],
    description: 'who may install a package whose name has a scope',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon publish`, which checks the packages that `tenon pack` has written, and publishes them with npm. */
export const publishCommand: SubCommand = defineSubCommand({
  meta: { name: 'publish', description: 'Check the packages in dist/npm, and publish them with npm' },
  args,
  async run({ 'dry-run': isDryRun, registry, tag, access, json }) {
    if (registry !== undefined && !URL.canParse(registry)) {
      throw new UsageError(`--registry must be a URL, got ${registry}`)
    }
    if (tag !== undefined && !/^[a-z][\w.-]*$/i.test(tag)) {
      throw new UsageError(`--tag must be a letter, followed by letters, digits, dots and dashes, got ${tag}`)
    }
    const tool = await loadBuildTool('publish')
    const directory = process.cwd()
    const loaded = tool.hasConfig(directory) ? await tool.loadProject(directory) : undefined
    const packages = readPackages(tool, directory)
    const project = loaded ?? packedFrom(tool, directory, packages)
    const problems = findProjectProblems(tool, project, packages)
    if (problems.length > 0)
      throw new InputError(
        `nothing was published:\n  ${problems.join('\n  ')}`,
        'Mend the project, and run tenon pack again.',
      )
    if (!json)
      for (const { name, version, files } of packages) printData(`${name}@${version}: ${files.size} files, checked`)
    const { libraries, platforms } = project.config
    const absent = platforms.filter(
      (platform) =>
        libraries.length > 0 && !packages.some(({ name }) => name === platformPackageName(project.name, platform)),
    )
    if (absent.length > 0) {
      // A platform cannot be added to a version that is published.
      printTalk(`without a package, so that calls fail there: ${absent.join(', ')}`)
    }
    const folders = packages.map((pkg) => pkg.directory)
    const published = isDryRun
      ? []
      : tool.publishPackages(folders, { registry, tag, access, output: json ? 2 : 1 }, printTalk)
    if (json) {
      const checked = packages.map(({ name, version, files }) => ({ name, version, files: [...files.keys()] }))
      printData(JSON.stringify({ packages: checked, missing: absent, published }, undefined, 2))
    }
  },
})
