import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { KernelLibrary, NativeTarget, Platform, Project } from '@tenon/build'
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
 * Finds the release builds of a project for the platforms of its configuration. That for this machine is brought up to date first.
 * Those for other platforms are taken as they are, because they may come from other machines, and refused if a source is newer.
 *
 * @throws {ToolError} if the libraries for this machine cannot be built
 * @throws {InputError} if there is no build, or one is older than a source or lacks a library
 */
export async function findBuilds(tool: BuildTool, project: Project): Promise<FoundBuilds> {
  const { directory, config } = project
  const targets = project.native.targets.filter(({ kind }) => kind === 'shared')
  const builds: PlatformBuild[] = []
  const missing: Platform[] = []
  for (const platform of config.platforms.map((name) => tool.findPlatform(name))) {
    const isHost = platform === tool.hostPlatform
    if (isHost) await tool.buildPackage(project, { variant: 'release', kinds: ['shared'] })
    const libraries = targets.flatMap((target) => findLibrary(tool, project, target, platform))
    if (libraries.length === 0) missing.push(platform)
    else {
      refuseIncomplete(project, platform, libraries)
      if (!isHost) refuseOld(directory, targets, platform, libraries)
      builds.push({ platform, libraries })
    }
  }
  if (builds.length > 0) return { builds, missing }
  throw new InputError(
    `${project.name} is not built for any platform of its configuration: ${config.platforms.join(', ')}`,
    'Run tenon build --target all.',
  )
}

function findLibrary(
  tool: BuildTool,
  { directory }: Project,
  target: NativeTarget,
  platform: Platform,
): readonly LibraryFile[] {
  const file = tool.artifactName(target, platform)
  const path = join(directory, tool.buildDirectory('release', platform), file)
  return statSync(path, { throwIfNoEntry: false }) === undefined ? [] : [{ name: target.name, path }]
}

/**
 * Whether every build for a platform has a library. One that is optional is left out where its compiler is not installed, and one
 * with symbols of the process is left out on Windows, where a library cannot leave symbols undefined.
 */
export function isRequired({ optional, unresolved = [] }: KernelLibrary, { os }: Platform): boolean {
  return optional !== true && (os !== 'win32' || unresolved.length === 0)
}

function refuseIncomplete({ config }: Project, platform: Platform, libraries: readonly LibraryFile[]): void {
  const required = config.libraries.filter((library) => isRequired(library, platform))
  const absent = required.filter((library) => !libraries.some((one) => one.name === library.name))
  if (absent.length === 0) return
  throw new InputError(
    `the build for ${platform.name} lacks ${absent.map((library) => library.name).join(', ')}`,
    `Run tenon build --target ${platform.name}.`,
  )
}

function refuseOld(
  directory: string,
  targets: readonly NativeTarget[],
  { name }: Platform,
  libraries: readonly LibraryFile[],
): void {
  const sources = targets.flatMap((target) => target.sources.flatMap((glob) => globSync(glob, { cwd: directory })))
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
