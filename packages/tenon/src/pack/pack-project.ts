import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { KernelPackage, Manifest, NpmPackage } from '@tenon/build/internal'
import type { BuildTool } from '../cli/build-tool.ts'
import type { LibraryPlace } from '../cli/generate-types.ts'
import { bindingModule } from '../binding/binding-module.ts'
import { InputError } from '../cli/input-error.ts'
import { quote } from '../registered/quote.ts'
import { copySidecar } from '../signatures/sidecar.ts'
import type { FoundBuilds, PlatformBuild } from './find-builds.ts'
import { mainManifest, platformManifest, type ManifestSource } from './manifests.ts'
import { projectModule, type ProjectModule } from './project-module.ts'

/** The folder of the packages, relative to the project. */
const packedDirectory = 'dist/npm'

/** A package that `tenon pack` has written, in a folder that `npm pack` and `npm publish` take. */
export interface PackedPackage extends NpmPackage {
  /** The absolute path of the folder. */
  readonly directory: string
}

/** The packages of a project, each behind those on which it depends, and its module. */
export interface PackedProject {
  readonly packages: readonly PackedPackage[]
  readonly module: ProjectModule
}

/**
 * Writes the npm packages of a project to `dist/npm`, in place of those that are there: a folder with the module and its types, and one
 * for each platform with the libraries.
 *
 * @throws {InputError} if a file is missing or not valid, or no library describes a kernel
 * @throws {ToolError} if the headers of a binding, or their annotations, cannot be read on a platform
 */
export async function packProject(
  tool: BuildTool,
  project: KernelPackage,
  { builds }: FoundBuilds,
): Promise<PackedProject> {
  const { directory, name, version } = project
  // The package of a library of the system has no libraries for any platform.
  const withLibraries = builds.filter(({ libraries }) => libraries.length > 0)
  const platforms = withLibraries.map(({ platform }) => platform)
  const source: ManifestSource = { tool, name, version, project: readManifest(directory), platforms }
  const module = await moduleOf(tool, project, builds, source)
  const documents = findDocuments(directory)
  const folder = join(directory, packedDirectory)
  const temporary = `${folder}.${process.pid}`
  const write = (manifest: Manifest, texts: Readonly<Record<string, string>>): string => {
    const packed = join(temporary, String(manifest['name']).replace(/^@/, '').replaceAll('/', '-'))
    mkdirSync(packed, { recursive: true })
    for (const file of documents) copyFileSync(join(directory, file), join(packed, file))
    const all = { 'package.json': `${JSON.stringify(manifest, undefined, 2)}\n`, ...texts }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(packed, file), text)
    return packed
  }
  try {
    write(mainManifest(source), { 'index.d.ts': module.declarations, 'index.js': module.script })
    for (const build of withLibraries) {
      const packed = write(platformManifest(source, build.platform), { 'README.md': platformReadme(name, build) })
      const fileOf = (library: string): string => tool.sharedLibraryName(library, build.platform)
      tool.writeLibraries(
        packed,
        Object.fromEntries(build.libraries.map((library) => [fileOf(library.name), library.path])),
      )
      for (const library of build.libraries) copySidecar(library.path, join(packed, 'lib', fileOf(library.name)))
    }
    // Replaced at once, so that the folder never has packages of two runs.
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return { packages: readPackages(tool, directory), module }
}

/**
 * Reads the packages that `tenon pack` has written for a project, each behind those on which it depends.
 *
 * @throws {InputError} if there are none
 * @throws {ToolError} if one has no manifest
 */
export function readPackages(tool: BuildTool, directory: string): PackedPackage[] {
  const folder = join(directory, packedDirectory)
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
  if (folders.length === 0) throw new InputError(`${folder} has no packages`, 'Run tenon pack.')
  return tool.inPublishOrder(folders.toSorted().map((path) => ({ ...tool.readPackage(path), directory: path })))
}

/** The module of the main package. Kernels have the same signatures on all platforms, and headers can differ. */
function moduleOf(
  tool: BuildTool,
  project: KernelPackage,
  builds: readonly PlatformBuild[],
  source: ManifestSource,
): ProjectModule | Promise<ProjectModule> {
  const placed = builds.map(({ platform, libraries }) => ({
    platform: platform.name,
    libraries: libraries.map((library) => ({ ...library, place: packagedPlace(source, library.name) })),
  }))
  const isHere = ({ platform }: { platform: string }): number => Number(platform === tool.hostPlatform.name)
  const [first, ...rest] = placed.toSorted((a, b) => isHere(b) - isHere(a))
  const { binding } = project.config
  return binding === undefined ? projectModule(first!.libraries) : bindingModule(project, binding, [first!, ...rest])
}

/** The place of a library in the platform package that fits the process. */
function packagedPlace({ name, version, platforms }: ManifestSource, library: string): LibraryPlace {
  const names = platforms.map((platform) => quote(platform.name)).join(', ')
  const options = `package: ${quote(name)}, version: ${quote(version)}, platforms: [${names}], library: ${quote(library)}`
  return {
    imports: `import { platformLibrary as $$platformLibrary } from 'tenon/core'`,
    path: `$$platformLibrary(import.meta.url, { ${options} })`,
  }
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
}

/** The README, which npm shows, and the license of a project. */
function findDocuments(directory: string): string[] {
  const names = globSync(['README.md', 'LICENSE', 'LICENSE.md', 'LICENSE.txt', 'NOTICE'], { cwd: directory }).toSorted()
  if (names.includes('README.md')) return names
  throw new InputError(`${directory} has no README.md, which npm shows for the package`, 'Write one.')
}

const platformReadme = (name: string, { platform, libraries }: PlatformBuild): string =>
  `# ${name}-${platform.name}

The libraries of \`${name}\` for ${platform.name}: ${libraries.map((library) => library.name).join(', ')}. Install \`${name}\`, which depends on
this package.
`
