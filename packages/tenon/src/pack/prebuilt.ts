import { basename, resolve } from 'node:path'
import { readBinary } from '@tenon/binary'
import type { KernelPackage, NpmPackage, Platform } from '@tenon/build/internal'
import type { BuildTool } from '../cli/build-tool.ts'
import { InputError } from '../cli/input-error.ts'
import type { LibraryFile, PlatformBuild } from './find-builds.ts'
import { platformPackageName } from './manifests.ts'

/** A package of kernels whose libraries another build tool has made, and the libraries of each platform. */
export interface Prebuilt {
  readonly project: KernelPackage
  readonly builds: readonly PlatformBuild[]
}

/**
 * Sorts the libraries that another build tool has made by platform, which their headers tell. The package has the name and version of its
 * package.json. No library is loaded.
 *
 * @param files the paths of the libraries. Files of one name are those of different platforms
 * @throws {InputError} if a file is for no platform or for several, two are the same library, or a platform lacks one
 */
export function findPrebuilt(tool: BuildTool, directory: string, files: readonly string[]): Prebuilt {
  const found = new Map<Platform, LibraryFile[]>()
  for (const file of files) {
    const path = resolve(directory, file)
    const platform = platformOf(tool, path)
    const name = libraryName(path)
    const libraries = found.get(platform) ?? []
    const other = libraries.find((library) => library.name === name)
    if (other !== undefined) throw new InputError(`${other.path} and ${path} are both ${name} for ${platform.name}`)
    found.set(platform, [...libraries, { name, path }])
  }
  const builds = tool.platforms.flatMap((platform) => {
    const libraries = found.get(platform)
    return libraries === undefined ? [] : [{ platform, libraries }]
  })
  const names = [...new Set(builds.flatMap(({ libraries }) => libraries.map(({ name }) => name)))]
  for (const { platform, libraries } of builds) {
    const missing = names.find((name) => !libraries.some((library) => library.name === name))
    if (missing === undefined) continue
    throw new InputError(
      `there is no ${missing} for ${platform.name}, only for another platform`,
      `Pass the file as well: --library path/to/${tool.sharedLibraryName(missing, platform)}`,
    )
  }
  const platforms = builds.map(({ platform }) => platform.name)
  return { project: tool.prebuiltPackage(directory, names, platforms), builds }
}

/**
 * The package of kernels from which packages without a configuration were packed: their libraries are those that the lists of digests
 * have.
 */
export function packedFrom(tool: BuildTool, directory: string, packages: readonly NpmPackage[]): KernelPackage {
  const { name } = tool.prebuiltPackage(directory, [], [])
  const platforms = tool.platforms.filter((platform) =>
    packages.some((pkg) => pkg.name === platformPackageName(name, platform.name)),
  )
  const files = packages.flatMap((pkg) => [...pkg.files.keys()])
  const libraries = files.filter((file) => /^lib\/.*\.(?:so|dylib|dll)$/.test(file)).map(libraryName)
  return tool.prebuiltPackage(
    directory,
    [...new Set(libraries)],
    platforms.map((platform) => platform.name),
  )
}

/** The name of a library without prefix and extension: `kernels` for `libkernels.so.1.2`. */
function libraryName(path: string): string {
  const stem = basename(path).replace(/(?:\.so(?:\.\d+)*|\.dylib|\.dll)$/, '')
  const name = stem.replace(/^lib(?=.)/, '')
  if (stem !== basename(path) && /^[A-Za-z][\w-]*$/.test(name)) return name
  throw new InputError(
    `the file of a library must be named as libNAME.so, libNAME.dylib or NAME.dll, got ${basename(path)}`,
    'NAME is a letter, followed by letters, digits, _ and -.',
  )
}

function platformOf(tool: BuildTool, path: string): Platform {
  const info = readBinary(path)
  if (info.architectures.length > 1) {
    throw new InputError(
      `${path} is for several processors: ${info.architectures.join(', ')}`,
      'Pass one file for each processor, which lipo -thin makes.',
    )
  }
  const found = tool.platforms.find((platform) => tool.findOtherMachine(info, platform).length === 0)
  if (found !== undefined && info.kind === 'shared') return found
  const names = tool.platforms.map(({ name }) => name).join(', ')
  const got = [info.kind, info.format, info.arch, info.libc].filter((word) => word !== undefined).join(' ')
  throw new InputError(`${path} must be a shared library for one of ${names}, got ${got}`)
}
