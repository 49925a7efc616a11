import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { LoadedPackage } from '../load-package.ts'
import { hostPlatform, type PlatformName } from '../platform.ts'
import type { NativePackage, NativeTarget, SharedTarget } from '../targets.ts'
import { ToolError } from '../tool-error.ts'
import { checkConfig } from './check-config.ts'
import type { KernelLibrary, KernelTest, ProjectConfig } from './config.ts'
import { headersDirectory } from './headers.ts'

type CompleteConfig = Required<Omit<ProjectConfig, 'binding'>> & Pick<ProjectConfig, 'binding'>

/** A package of kernels, or of a C library that it binds, as `tenon pack` packs it. */
export interface KernelPackage extends LoadedPackage {
  /** The configuration. All but the binding have their defaults. */
  readonly config: CompleteConfig
}

/** A package of kernels with a `tenon.config.ts`. */
export interface Project extends KernelPackage {
  /** The absolute path of the configuration. */
  readonly configPath: string
}

/** The options of {@link loadProject}. */
export interface LoadProjectOptions {
  /** Called with the warnings of the compiler when the project is built. By default they are dropped. */
  readonly onWarning?: ((text: string) => void) | undefined
}

const fileNames = ['tenon.config.ts', 'tenon.config.mts', 'tenon.config.js', 'tenon.config.mjs']

/**
 * Loads the project in a directory: its `tenon.config.ts` and its package.json.
 *
 * @throws {ToolError} if one is missing or not valid, or the C headers of Tenon are not installed
 */
export async function loadProject(directory: string, { onWarning }: LoadProjectOptions = {}): Promise<Project> {
  const configPath = findConfig(directory)
  const manifest = readManifest(directory)
  const config = checkConfig(await importConfig(configPath), configPath)
  const name = config.name ?? manifest.name
  const complete = { name, libraries: [], tests: [], platforms: [hostPlatform.name], ...config }
  return {
    directory,
    name,
    version: manifest.version,
    native: nativePackage(complete, relative(directory, headersDirectory(directory)).replaceAll('\\', '/')),
    config: complete,
    onWarning,
    configPath,
  }
}

/** Whether a directory has a configuration. Without one, another build tool makes the libraries. */
export const hasConfig = (directory: string): boolean => configsIn(directory).length > 0

/**
 * A package of kernels whose libraries another build tool makes. Its name and version are those of its package.json.
 *
 * @param libraries the names of the libraries without prefix and extension
 * @throws {ToolError} if the package.json is missing or not valid
 */
export function prebuiltPackage(
  directory: string,
  libraries: readonly string[],
  platformNames: readonly PlatformName[],
): KernelPackage {
  const { name, version } = readManifest(directory)
  const config = {
    name,
    libraries: libraries.map((library) => ({ name: library, sources: [] })),
    tests: [],
    platforms: platformNames,
  }
  return { directory, name, version, config, native: { targets: config.libraries.map(sharedTarget) } }
}

const sharedTarget = (library: KernelLibrary): SharedTarget => ({ imports: ['*'], ...library, kind: 'shared' })

const configsIn = (directory: string): string[] => fileNames.filter((name) => existsSync(join(directory, name)))

function findConfig(directory: string): string {
  const found = configsIn(directory)
  if (found.length === 1) return join(directory, found[0]!)
  if (found.length > 1) throw new ToolError(`${directory} has ${found.join(' and ')}. Keep one of them.`)
  throw new ToolError(
    `${directory} has no tenon.config.ts.\nRun the command in the folder of a package of kernels, or make one: tenon new kernel NAME`,
  )
}

function readManifest(directory: string): { readonly name: string; readonly version: string } {
  const path = join(directory, 'package.json')
  if (!existsSync(path)) throw new ToolError(`${directory} has no package.json. Run npm init there.`)
  const { name, version } = parseManifest(path)
  for (const [field, value] of Object.entries({ name, version })) {
    if (typeof value === 'string' && value !== '') continue
    throw new ToolError(`${path} must have a "${field}", got ${JSON.stringify(value) ?? 'none'}`)
  }
  return { name: name as string, version: version as string }
}

function parseManifest(path: string): { readonly name?: unknown; readonly version?: unknown } {
  try {
    return Object(JSON.parse(readFileSync(path, 'utf8'))) as object
  } catch (error) {
    throw new ToolError(`${path} must be a JSON object: ${(error as Error).message}`)
  }
}

async function importConfig(path: string): Promise<unknown> {
  // The time of the last change makes the module load again after an edit.
  const url = `${pathToFileURL(path).href}?${statSync(path).mtimeMs}`
  try {
    return ((await import(url)) as { default?: unknown }).default
  } catch (error) {
    throw new ToolError(`${path} did not load: ${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return `Node.js ${process.versions.node} does not run TypeScript.\nUse Node.js 22.18 or later, or write tenon.config.mjs.`
  }
  if (code === 'ERR_MODULE_NOT_FOUND' && error.message.includes('@tenon/build')) {
    return 'it imports @tenon/build, which is not installed.\nInstall it: npm install --save-dev @tenon/build'
  }
  return error.message
}

function nativePackage({ libraries, tests, binding }: CompleteConfig, headers: string): NativePackage {
  // Headers of C libraries often do not mark what is exported.
  const exported = binding === undefined ? [] : ['-fvisibility=default']
  const withHeaders = ({
    includes = [],
    flags = [],
  }: KernelLibrary | KernelTest): Pick<NativeTarget, 'includes' | 'flags'> => ({
    includes: [...includes, headers],
    // A warning is printed and does not end the build, because the next version of a compiler has new ones.
    flags: ['-Wno-error', ...exported, ...flags],
  })
  return {
    targets: [
      ...libraries.map((library) => ({ ...sharedTarget(library), ...withHeaders(library) })),
      ...tests.map((program): NativeTarget => ({ ...program, ...withHeaders(program), kind: 'test' })),
    ],
  }
}
