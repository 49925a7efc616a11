import { isDeepStrictEqual } from 'node:util'
import type { KernelPackage, Manifest, NpmPackage, PackageRules, Platform } from '@tenon/build/internal'
import type { BuildTool } from '../cli/build-tool.ts'
import { isRequired } from './find-builds.ts'
import { platformPackageName } from './manifests.ts'

/** The names of documents that a package may have. */
const documents = /^(?:README\.md|LICENSE(?:\.md|\.txt)?|NOTICE)$/

/** As {@link documents}, with the sidecars of libraries. */
const platformDocuments = new RegExp(`${documents.source}|^lib/[\\w-]+\\.tenon\\.json$`)

/**
 * Returns a sentence for each reason why the packages of a project must not be published: packages that are missing, belong to
 * another version or have other files, manifests that a user cannot install, and libraries that do not run on their platform.
 */
export function findProjectProblems(
  tool: BuildTool,
  project: KernelPackage,
  packages: readonly NpmPackage[],
): string[] {
  const problems = packages.flatMap((pkg) => {
    const { name, version } = pkg
    const platform = tool.platforms.find((one) => platformPackageName(project.name, one.name) === name)
    const rules = name === project.name ? mainRules : platform && platformRules(tool, project, pkg, platform)
    const found = [
      ...(version === project.version
        ? []
        : [`its version must be ${project.version}, that of package.json, got ${version}`]),
      ...(rules === undefined
        ? [`its name must be ${project.name}, or that with a platform behind it, got ${name}`]
        : tool.findPackageProblems(pkg, rules)),
      ...(rules === mainRules ? findDependencies(pkg, packages) : []),
    ]
    return found.map((sentence) => `${name}: ${sentence}`)
  })
  const main = packages.filter(({ name }) => name === project.name).length
  return main === 1 ? problems : [`there must be one package ${project.name}, got ${main}`, ...problems]
}

const mainRules: PackageRules = { files: ['package.json', 'README.md', 'index.js', 'index.d.ts'], documents }

/** The main package depends on tenon, and on exactly the platform packages that are published with it. */
function findDependencies({ name, version, manifest }: NpmPackage, packages: readonly NpmPackage[]): string[] {
  const wanted = Object.fromEntries(packages.filter((one) => one.name !== name).map((one) => [one.name, version]))
  const optional = (manifest['optionalDependencies'] ?? {}) as Manifest
  const lost = Object.keys(optional).filter((one) => wanted[one] === undefined)
  const dependencies = Object.keys((manifest['dependencies'] ?? {}) as Manifest)
  return [
    ...(lost.length > 0 ? [`it depends on ${lost.join(', ')}, which is not packed`] : []),
    ...(lost.length === 0 && !isDeepStrictEqual({ ...optional }, wanted)
      ? [`its optionalDependencies must be ${JSON.stringify(wanted)}, got ${JSON.stringify(optional)}`]
      : []),
    ...(isDeepStrictEqual(dependencies, ['tenon'])
      ? []
      : [`it must depend on tenon alone, got ${dependencies.join(', ') || 'nothing'}`]),
  ]
}

function platformRules(
  tool: BuildTool,
  project: KernelPackage,
  { files }: NpmPackage,
  platform: Platform,
): PackageRules {
  const { config, directory, native } = project
  const required = new Set(config.libraries.filter((one) => isRequired(one, platform)).map(({ name }) => name))
  const libraries = native.targets
    .filter(({ kind }) => kind === 'shared')
    .map((target) => ({ name: target.name, path: `lib/${tool.artifactName(target, platform)}` }))
    .filter(({ name, path }) => required.has(name) || files.has(path))
  const needed = config.libraries.flatMap((one) => one.libraries ?? []).flatMap((name) => libraryFiles(name, platform))
  return {
    files: ['package.json', tool.digestsPath, ...libraries.map(({ path }) => path)],
    documents: platformDocuments,
    platform: { platform, libraries: needed, builtIn: directory },
  }
}

/** The files of a library that the configuration lists by its `-l` name, for the check of needed libraries. */
function libraryFiles(name: string, { os }: Platform): string[] {
  if (os === 'win32') return [`${name}.dll`, `lib${name}.dll`, `lib${name}-*`]
  return os === 'darwin' ? [`/usr/lib/lib${name}.dylib`, `/usr/lib/lib${name}.*`] : [`lib${name}.so`, `lib${name}.so.*`]
}
