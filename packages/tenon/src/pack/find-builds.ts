import { existsSync, globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { KernelLibrary, NativeTarget, Platform, Project } from '@tenon/build/internal'
import type { BuildTool } from '../cli/build-tool.ts'
import { InputError } from '../cli/input-error.ts'

/** A built library. */
export interface LibraryFile {
  readonly name: string
  readonly path: string
}

/** The release build of a project for a platform. */
export interface PlatformBuild {
  readonly platform: Platform
  readonly libraries: readonly LibraryFile[]
}

/** The builds of a project, and the platforms of its configuration for which there is none. */
export interface FoundBuilds {
  readonly builds: readonly PlatformBuild[]
  readonly missing: readonly Platform[]
}

/**
 * Finds the release builds of a project for the platforms of its configuration. They are in the folder of their platform, from
 * `tenon build --target` or another machine, and are taken as they are, unless a source is newer. If there is none for this
 * machine, that of `tenon build` is brought up to date and taken.
 *
 * @throws {ToolError} if the libraries for this machine cannot be built
 * @throws {InputError} if there is no build, or one is older than a source or lacks a library
 */
export async function findBuilds(tool: BuildTool, project: Project): Promise<FoundBuilds> {
  const platforms = project.config.platforms.map((name) => tool.findPlatform(name))
  // A binding of a library of the system needs no build.
  if (project.config.libraries.length === 0)
    return { builds: platforms.map((platform) => ({ platform, libraries: [] })), missing: [] }
  const builds: PlatformBuild[] = []
  const missing: Platform[] = []
  for (const platform of platforms) {
    const build = findPortable(tool, project, platform) ?? (await buildHere(tool, project, platform))
    if (build === undefined) missing.push(platform)
    else {
      refuseIncomplete(project, build)
      builds.push(build)
    }
  }
  if (builds.length > 0) return { builds, missing }
  throw new InputError(
    `${project.name} is not built for any platform of its configuration: ${project.config.platforms.join(', ')}`,
    'Run tenon build --target all.',
  )
}

const sharedTargets = ({ native }: Project): NativeTarget[] => native.targets.filter(({ kind }) => kind === 'shared')

function findPortable(tool: BuildTool, project: Project, platform: Platform): PlatformBuild | undefined {
  const directory = join(project.directory, tool.buildDirectory('release', platform, true))
  const libraries = sharedTargets(project)
    .map((target) => ({ name: target.name, path: join(directory, tool.artifactName(target, platform)) }))
    .filter(({ path }) => existsSync(path))
  if (libraries.length === 0) return undefined
  refuseOld(project, platform, libraries)
  return { platform, libraries }
}

async function buildHere(tool: BuildTool, project: Project, platform: Platform): Promise<PlatformBuild | undefined> {
  if (platform !== tool.hostPlatform) return undefined
  const artifacts = await tool.buildPackage(project, { variant: 'release', kinds: ['shared'] })
  return { platform, libraries: artifacts.map(({ target: { name }, path }) => ({ name, path })) }
}

/**
 * Whether every build for a platform has a library. One that is optional is left out where its compiler is not installed, and one
 * with symbols of the process is left out on Windows, where a library cannot leave symbols undefined.
 */
export function isRequired({ optional, unresolved = [] }: KernelLibrary, { os }: Platform): boolean {
  return optional !== true && (os !== 'win32' || unresolved.length === 0)
}

function refuseIncomplete({ config }: Project, { platform, libraries }: PlatformBuild): void {
  const required = config.libraries.filter((library) => isRequired(library, platform))
  const absent = required.filter((library) => !libraries.some((one) => one.name === library.name))
  if (absent.length === 0) return
  throw new InputError(
    `the build for ${platform.name} lacks ${absent.map((library) => library.name).join(', ')}`,
    `Run tenon build --target ${platform.name}.`,
  )
}

function refuseOld(project: Project, { name }: Platform, libraries: readonly LibraryFile[]): void {
  const { directory } = project
  const globs = sharedTargets(project).flatMap((target) => target.sources)
  const sources = globSync(globs, { cwd: directory })
  const timeOf = (path: string): number => statSync(path).mtimeMs
  for (const { path } of libraries) {
    const newer = sources.find((source) => timeOf(join(directory, source)) > timeOf(path))
    if (newer === undefined) continue
    throw new InputError(
      `${relative(directory, path)} is older than ${newer}`,
      `Run tenon build --target ${name}, or delete ${relative(directory, path)}.`,
    )
  }
}
